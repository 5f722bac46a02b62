"""Long vectors in few numbers: a projection drawn at random, or fitted to the items that came first.

    random    v ↦ vR          R (length, dim) ~ N(0, 1/dim)
    fitted    v ↦ (v - c)A    c the mean and A (length, dim) the main axes of the first items (PCA)

The random one follows from the stream's seed, and by Johnson and Lindenstrauss keeps distances to within
about √(log n / dim). The fitted one is an event of the log, so that every replay projects alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.randomness import generator
from duelwise.types import JSON, Array

LONGEST_VECTOR = 100_000
LARGEST_FITTED = 2_000_000  # numbers in an event: 16 MB
FITTED_TO = 2000  # vectors at most: more change its axes little


class Projection(NamedTuple):
    """From vectors (length,) to (dim,); axes are None until it is fitted."""

    length: int
    dim: int
    axes: Array | None  # (length, dim)
    centre: Array | None = None  # (length,) where it is fitted

    def of(self, vector: Array) -> Array:
        """(dim,)."""
        assert self.axes is not None
        return (vector if self.centre is None else vector - self.centre) @ self.axes


def projection_of(name: str, rule: JSON, seed: int) -> Projection:
    """The projection that a stream's encodings declare."""
    match rule:
        case {"length": int() as length, "dim": int() as dim, **more} if (
            1 <= dim <= length <= LONGEST_VECTOR
            and more in ({}, {"projection": "random"}, {"projection": "fitted"})
        ):
            is_fitted = more.get("projection") == "fitted"
        case _:
            raise InvalidInput(
                f"The encoding of {name!r} is {rule!r:.80}; expected levels such as ['a', 'b'], or "
                "{'length': 768, 'dim': 16} for a vector to be projected, with 'projection': 'fitted' to "
                "fit it to the first items."
            )
    if is_fitted:
        if length * dim > LARGEST_FITTED:
            raise InvalidInput(
                f"The encoding of {name!r} fits {length} × {dim} numbers; at most {LARGEST_FITTED} are kept "
                "with a stream. Choose a smaller dim, or leave 'projection' out for a random one."
            )
        return Projection(length, dim, None)
    drawn = generator(seed, f"projection/{name}", 0).standard_normal((length, dim))
    return Projection(length, dim, drawn / math.sqrt(dim))


def main_axes(name: str, projection: Projection, vectors: Sequence[Array]) -> tuple[Array, Array]:
    """(centre, axes) of the first vectors: their mean, and the directions in which they differ most."""
    if len(vectors) <= projection.dim:
        raise InvalidInput(
            f"The projection of {name!r} is fitted to the items that are put first, and there are "
            f"{len(vectors)}; expected more than {projection.dim}, its dim. Put more items at once."
        )
    rows = np.array(vectors[:FITTED_TO])
    centre = rows.mean(axis=0)
    axes: Array = np.linalg.svd(rows - centre, full_matrices=False)[2][: projection.dim].T
    largest = axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])]
    signs = np.where(largest < 0, -1.0, 1.0)  # by rule, not by chance
    return centre, np.ascontiguousarray(axes * signs)
