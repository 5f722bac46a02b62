"""φ̂ as a straight line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.learning.core.dispatch import kernel
from duelwise.learning.core.jit import compiled
from duelwise.learning.core.roles import absorb, learns_parts, predict
from duelwise.learning.post_serving.kernel_model import KernelModel
from duelwise.learning.post_serving.recursive import LeastSquares, absorb_known, expect, least_squares
from duelwise.types import Array, IntArray


@compiled
def _with_one(x: Array) -> tuple[IntArray, Array]:
    """[1, x] as nonzeros: x (m, dx) → position, value (m, 1 + dx)."""
    m, dim = x.shape
    position, value = np.empty((m, 1 + dim), dtype=np.int64), np.empty((m, 1 + dim))
    for b in range(m):
        position[b, 0], value[b, 0] = 0, 1.0
        for i in range(dim):
            position[b, 1 + i], value[b, 1 + i] = 1 + i, x[b, i]
    return position, value


@kernel(predict, LeastSquares)
def predict_line(model: LeastSquares, r: int, x: Array, out: Array) -> None:
    """Bᵀ[1, x] of every candidate."""
    position, value = _with_one(x)
    expect(model.coefficients[r], position, value, out)


@kernel(absorb, LeastSquares)
def absorb_line(model: LeastSquares, r: int, x: Array, y: Array) -> None:
    """Recursive least squares, the first of the pair before the second."""
    position, value = _with_one(x)
    absorb_known(model.inverse[r], model.coefficients[r], position, value, y)


@kernel(learns_parts, LeastSquares)
def each_value_by_itself(model: LeastSquares) -> bool:
    """Least squares take what is there."""
    return True


@dataclass(frozen=True, kw_only=True)
class Ridge:
    """Linear regression with intercept: φ̂(x) = Bᵀ[1, x], B = (ridge·I + Σ f fᵀ)⁻¹ Σ f yᵀ."""

    ridge: float = 1.0

    def __post_init__(self) -> None:
        if self.ridge <= 0:
            raise InvalidInput(f"Ridge regression needs ridge > 0, got {self.ridge}.")

    def start(self, *, runs: Sequence[int], context_dim: int, post_dim: int, seed: int) -> KernelModel:
        precision = self.ridge * np.eye(context_dim + 1)
        fit = least_squares(runs=len(runs), precision=precision, outputs=post_dim)
        return KernelModel(fit, post_dim=post_dim)
