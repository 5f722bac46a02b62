"""φ̂ as a straight line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.learning.post_serving.recursive import RecursiveLeastSquares, dense
from duelwise.types import Array, IntArray, Snapshot


@dataclass(frozen=True, kw_only=True)
class Ridge:
    """Linear regression with intercept: φ̂(x) = Bᵀ[1, x], B = (ridge·I + Σ f fᵀ)⁻¹ Σ f yᵀ."""

    ridge: float = 1.0

    def __post_init__(self) -> None:
        if self.ridge <= 0:
            raise InvalidInput(f"Ridge regression needs ridge > 0, got {self.ridge}.")

    def start(self, *, runs: Sequence[int], context_dim: int, post_dim: int, seed: int) -> RidgeModel:
        return RidgeModel(self, len(runs), context_dim, post_dim)


class RidgeModel:
    """The lines of R runs."""

    def __init__(self, settings: Ridge, runs: int, context_dim: int, post_dim: int) -> None:
        precision = settings.ridge * np.eye(context_dim + 1)
        self._fit = RecursiveLeastSquares(runs=runs, precision=precision, outputs=post_dim)

    @property
    def post_dim(self) -> int:
        return self._fit.outputs

    def predict(self, x: Array) -> Array:
        return self._fit.predict(*dense(_with_one(x)))

    def learn(self, run: IntArray, x: Array, y: Array) -> None:
        self._fit.learn(run, *dense(_with_one(x)), y)

    def snapshot(self) -> Snapshot:
        return self._fit.snapshot()

    def restore(self, state: Snapshot) -> None:
        self._fit.restore(state)


def _with_one(x: Array) -> Array:
    """[1, x]: (n, m, dx) → (n, m, 1 + dx)."""
    return np.concatenate([np.ones((*x.shape[:2], 1)), x], axis=2)
