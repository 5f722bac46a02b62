"""The geometry of a set of duels: V of all observed, W of those whose vote arrived, S of all requested."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from duelwise.learning.core.cholesky import invert
from duelwise.learning.core.equations import add_duel
from duelwise.learning.core.jit import compiled
from duelwise.types import Array, IntArray

REFACTOR_EVERY = 100_000  # rank-one moves between exact inversions; drift stays below 1e-13


class Geometry(NamedTuple):
    """λI + κ Σ ω Δz Δzᵀ for each run: its sum, its inverse and its log det."""

    matrix: Array  # (R, d, d)
    inverse: Array  # (R, d, d)
    log_det: Array  # (R,)
    moves: IntArray  # (R,) since the last inversion


def geometry(*, runs: int, dim: int, regularisation: Array) -> Geometry:
    """Nothing but λI: regularisation (R,)."""
    eye = np.eye(dim)
    return Geometry(
        matrix=regularisation[:, None, None] * eye,
        inverse=eye / regularisation[:, None, None],
        log_det=dim * np.log(regularisation),
        moves=np.zeros(runs, dtype=np.int64),
    )


@compiled
def move(held: Geometry, r: int, dz: Array, scale: float) -> None:
    """(1), (2): run r's sum grows by κω Δz Δzᵀ, scale = κω; now and then it is inverted anew."""
    held.log_det[r] += add_duel(held.matrix[r], held.inverse[r], dz, scale)
    held.moves[r] += 1
    if held.moves[r] >= REFACTOR_EVERY:
        held.log_det[r] = invert(held.matrix[r], held.inverse[r])
        held.moves[r] = 0
