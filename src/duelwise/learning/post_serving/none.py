"""No φ̂ at all: what is known before serving is everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.types import Array, IntArray, Snapshot


@dataclass(frozen=True)
class NoPostServing:
    """The null object, dy = 0: it predicts (R, K, 0) and has nothing to learn."""

    def start(self, *, runs: Sequence[int], context_dim: int, post_dim: int, seed: int) -> NoPostServingModel:
        if post_dim != 0:
            raise InvalidInput(
                f"The world has {post_dim} post-serving coordinates, but no post-serving model was chosen. "
                "Choose one, such as 'spline', or take a world without post-serving context."
            )
        return NoPostServingModel()


class NoPostServingModel:
    """A φ̂ without outputs."""

    post_dim = 0

    def predict(self, x: Array) -> Array:
        return np.zeros((*x.shape[:2], 0))

    def learn(self, run: IntArray, x: Array, y: Array) -> None:
        """Nothing follows from a y of no coordinates."""

    def snapshot(self) -> Snapshot:
        return {}

    def restore(self, state: Snapshot) -> None:
        """There is no state."""
