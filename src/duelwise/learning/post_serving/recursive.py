"""Recursive least squares, shared by every φ̂ that is linear in its features.

A run keeps A = (Λ + Σ f fᵀ)⁻¹ and the coefficients B = A Σ f yᵀ, where Λ is the
prior's precision, so that B is always the exact ridge solution. Features come
as their nonzeros, (position, value): a spline has few, a dense map has all.
"""

from __future__ import annotations

import numpy as np

from duelwise.learning.compiled import compiled
from duelwise.learning.post_serving.order import by_run
from duelwise.types import Array, IntArray, Snapshot


class RecursiveLeastSquares:
    """B for R runs: width p features, dy outputs; `precision` Λ (p, p) is the prior's."""

    def __init__(self, *, runs: int, precision: Array, outputs: int) -> None:
        width = len(precision)
        self.inverse = np.empty((runs, width, width))
        self.inverse[:] = np.linalg.inv(precision)
        self.coefficients = np.zeros((runs, width, outputs))  # (R, p, dy)

    @property
    def outputs(self) -> int:
        return self.coefficients.shape[2]

    def predict(self, position: IntArray, value: Array) -> Array:
        """fᵀB: position and value (R, K, s) → (R, K, dy)."""
        return _predict(self.coefficients, position, value)

    def learn(self, run: IntArray, position: IntArray, value: Array, y: Array) -> None:
        """Absorb pairs: run (n,), position and value (n, 2, s), y (n, 2, dy)."""
        order, start = by_run(run, len(self.inverse))
        _learn(self.inverse, self.coefficients, order, start, position, value, np.ascontiguousarray(y))

    def snapshot(self) -> Snapshot:
        return {"inverse": self.inverse.copy(), "coefficients": self.coefficients.copy()}

    def restore(self, state: Snapshot) -> None:
        self.inverse[...] = state["inverse"]
        self.coefficients[...] = state["coefficients"]


def dense(features: Array) -> tuple[IntArray, Array]:
    """All features as nonzeros: (n, m, p) → position, value (n, m, p)."""
    position = np.empty(features.shape, dtype=np.int64)
    position[...] = np.arange(features.shape[2])
    return position, features


@compiled
def absorb(inverse: Array, coefficients: Array, position: IntArray, value: Array, y: Array) -> None:
    """One pair, first row before second, touching A once.

    Row by row: v = Af; B += v(y - fᵀB)ᵀ/(1 + fᵀv); A -= vvᵀ/(1 + fᵀv). With
    u = v/√(1 + fᵀv) the second row sees A - u₁u₁ᵀ, so u₂ follows from the old A,
    and both outer products leave A in one pass; A stays symmetric to the last bit.
    """
    width, nonzeros, outputs = inverse.shape[0], position.shape[1], coefficients.shape[1]
    u = np.zeros((2, width))
    gain = np.empty((2, outputs))  # (y - fᵀB)/√(1 + fᵀv)
    shared = 0.0  # f₂ᵀu₁
    for row in range(2):
        for j in range(nonzeros):
            column, weight = inverse[position[row, j]], value[row, j]
            for i in range(width):
                u[row, i] += weight * column[i]
        if row == 1:
            for j in range(nonzeros):
                shared += value[1, j] * u[0, position[1, j]]
            for i in range(width):
                u[1, i] -= shared * u[0, i]
        total = 1.0
        for j in range(nonzeros):
            total += value[row, j] * u[row, position[row, j]]
        scale = 1.0 / np.sqrt(total)
        for i in range(width):
            u[row, i] *= scale
        for o in range(outputs):
            expected = shared * gain[0, o] if row == 1 else 0.0
            for j in range(nonzeros):
                expected += value[row, j] * coefficients[position[row, j], o]
            gain[row, o] = (y[row, o] - expected) * scale
    for i in range(width):
        first, second, column, target = u[0, i], u[1, i], inverse[i], coefficients[i]
        for j in range(width):
            column[j] -= first * u[0, j] + second * u[1, j]
        for o in range(outputs):
            target[o] += first * gain[0, o] + second * gain[1, o]


@compiled
def expect(coefficients: Array, position: IntArray, value: Array, out: Array) -> None:
    """Adds what the coefficients predict to `out`  # (K, dy)"""
    for k in range(position.shape[0]):
        for j in range(position.shape[1]):
            row, weight = coefficients[position[k, j]], value[k, j]
            for o in range(out.shape[1]):
                out[k, o] += weight * row[o]


@compiled
def _predict(coefficients: Array, position: IntArray, value: Array) -> Array:
    out = np.zeros((position.shape[0], position.shape[1], coefficients.shape[2]))
    for r in range(position.shape[0]):
        expect(coefficients[r], position[r], value[r], out[r])
    return out


@compiled
def _learn(
    inverse: Array,
    coefficients: Array,
    order: IntArray,
    start: IntArray,
    position: IntArray,
    value: Array,
    y: Array,
) -> None:
    for r in range(inverse.shape[0]):
        for i in order[start[r] : start[r + 1]]:
            absorb(inverse[r], coefficients[r], position[i], value[i], y[i])
