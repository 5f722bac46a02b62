"""Recursive least squares, shared by every φ̂ that is linear in its features.

A run keeps A = (Λ + Σ f fᵀ)⁻¹ and the coefficients B = A Σ f yᵀ, where Λ is the
prior's precision, so that B is always the exact ridge solution. Features come
as their nonzeros, (position, value): a spline has few, a dense map has all.

One A serves all outputs while each row is seen whole or not at all. Once single
values are missing, every output has seen other rows, and has an A of its own.

A pass over A is most of what a pair costs. So each row of A begins at a line of the
processor's cache, as the two rows of room behind it do: a quarter is saved. What
stands beside A there is never more than room, and snapshots leave it out.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np

from duelwise.learning.core.jit import compiled
from duelwise.learning.core.state import fill_arrays, named_arrays
from duelwise.types import Array, IntArray, Snapshot

T = TypeVar("T")

LINE = 8  # numbers in a line of the cache
ROOM = 2  # rows behind A, for kernels to work in


class LeastSquares(NamedTuple):
    """A and B of R runs: p features, dy outputs."""

    inverse: Array  # (R, 1 or dy, p + ROOM, p and up to the end of a line) A and room
    coefficients: Array  # (R, p, dy)


def least_squares(*, runs: int, precision: Array, outputs: int) -> LeastSquares:
    """Nothing seen yet; `precision` Λ (p, p) is the prior's."""
    width = len(precision)
    inverse = _in_lines(np.broadcast_to(_inverted(precision.tobytes(), width), (runs, 1, width, width)))
    return LeastSquares(inverse, np.zeros((runs, width, outputs)))


def is_least_squares(state: Any) -> bool:
    """Whether a state holds A and B as they are laid out here; it may hold more, and be somebody else's."""
    inverse, coefficients = (np.shape(getattr(state, name, 0.0)) for name in LeastSquares._fields)
    return len(inverse) == 4 and len(coefficients) == 3 and inverse[2] == coefficients[1] + ROOM


def _in_lines(inverse: Array) -> Array:
    """A (R, m, p, p) with its room."""
    *many, width, _ = inverse.shape
    shape = (*many, width + ROOM, -(-width // LINE) * LINE)
    numbers = math.prod(shape)
    held = np.zeros(numbers + LINE)
    begin = -(held.ctypes.data // held.itemsize) % LINE
    out = held[begin : begin + numbers].reshape(shape)
    out[..., :width, :width] = inverse
    return out


def _without_room(inverse: Array) -> Array:
    """A (R, m, p, p), not copied."""
    width = inverse.shape[2] - ROOM
    return inverse[..., :width, :width]


@lru_cache(maxsize=4)
def _inverted(precision: bytes, width: int) -> Array:
    """Λ⁻¹ (p, p): a stream that learns its ranges starts over a dozen times with the same prior."""
    return np.linalg.inv(np.frombuffer(precision).reshape(width, width)).astype(np.float64)


def dense(features: Array) -> tuple[IntArray, Array]:
    """All features as nonzeros: (n, m, p) → position, value (n, m, p)."""
    position = np.empty(features.shape, dtype=np.int64)
    position[...] = np.arange(features.shape[2])
    return position, features


def separated(state: T, outputs: int) -> T:
    """A state with an A of its own for every output, all as the first is."""
    held: Any = state
    one = _without_room(held.inverse)[:, :1]
    return held._replace(inverse=_in_lines(np.repeat(one, outputs, axis=1)))


def needs_separation(state: Any, y: Array) -> bool:
    """Whether one A for all outputs cannot learn these values exactly: y (n, 2, dy), NaN unknown."""
    unknown = np.isnan(y)
    return state.inverse.shape[1] < y.shape[2] and bool((unknown.any(axis=2) & ~unknown.all(axis=2)).any())


def snapshot(state: Any) -> Snapshot:
    """Copies of A (R, 1 or dy, p, p), of B, and of whatever else the state holds."""
    arrays = named_arrays(state) | {"inverse": _without_room(state.inverse)}
    return {name: array.copy() for name, array in arrays.items()}


def restored(state: T, saved: Snapshot) -> T:
    """The state as it was in a snapshot: with one A for all outputs again, if it was so."""
    held: Any = separated(state, saved["inverse"].shape[1])
    fill_arrays(held._replace(inverse=_without_room(held.inverse)), saved)
    return held


@compiled
def absorb_known(inverse: Array, coefficients: Array, position: IntArray, value: Array, y: Array) -> None:
    """One pair, of which some of y (2, dy) may be unknown (NaN): inverse (1 or dy, p + ROOM, …)."""
    gaps = False
    for row in range(2):
        for o in range(y.shape[1]):
            gaps = gaps or np.isnan(y[row, o])
    if not gaps and inverse.shape[0] == 1:
        absorb_rows(inverse[0], coefficients, position, value, y)
        return
    for row in range(2):
        for a in range(inverse.shape[0]):
            low, high = (0, y.shape[1]) if inverse.shape[0] == 1 else (a, a + 1)
            if high > low and not np.isnan(y[row, low]):
                _absorb_row(
                    inverse[a], coefficients[:, low:high], position[row], value[row], y[row, low:high]
                )


@compiled
def _absorb_row(inverse: Array, coefficients: Array, position: IntArray, value: Array, y: Array) -> None:
    """v = Af; B += v(y - fᵀB)ᵀ/(1 + fᵀv); A -= vvᵀ/(1 + fᵀv): one row."""
    width, v, total = coefficients.shape[0], np.zeros(coefficients.shape[0]), 1.0
    for j in range(position.shape[0]):
        for i in range(width):
            v[i] += value[j] * inverse[position[j], i]
    for j in range(position.shape[0]):
        total += value[j] * v[position[j]]
    for o in range(y.shape[0]):
        missed = y[o]
        for j in range(position.shape[0]):
            missed -= value[j] * coefficients[position[j], o]
        for i in range(width):
            coefficients[i, o] += v[i] * missed / total
    for i in range(width):
        for j in range(width):
            inverse[i, j] -= v[i] * v[j] / total


@compiled
def absorb_rows(inverse: Array, coefficients: Array, position: IntArray, value: Array, y: Array) -> None:
    """One pair, first row before second, touching A once.

    Row by row: v = Af; B += v(y - fᵀB)ᵀ/(1 + fᵀv); A -= vvᵀ/(1 + fᵀv). With
    u = v/√(1 + fᵀv) the second row sees A - u₁u₁ᵀ, so u₂ follows from the old A,
    and both outer products leave A in one pass; A stays symmetric to the last bit.
    u₁ and u₂ stand in the room.
    """
    width, nonzeros, outputs = coefficients.shape[0], position.shape[1], coefficients.shape[1]
    first, second = inverse[width], inverse[width + 1]
    gain = np.empty((2, outputs))  # (y - fᵀB)/√(1 + fᵀv)
    shared = 0.0  # f₂ᵀu₁
    for row in range(2):
        u = inverse[width + row]
        for i in range(u.shape[0]):
            u[i] = 0.0
        for j in range(nonzeros):
            column, weight = inverse[position[row, j]], value[row, j]
            for i in range(u.shape[0]):
                u[i] += weight * column[i]
        if row == 1:
            for j in range(nonzeros):
                shared += value[1, j] * first[position[1, j]]
            for i in range(u.shape[0]):
                u[i] -= shared * first[i]
        total = 1.0
        for j in range(nonzeros):
            total += value[row, j] * u[position[row, j]]
        scale = 1.0 / np.sqrt(total)
        for i in range(u.shape[0]):
            u[i] *= scale
        for o in range(outputs):
            expected = shared * gain[0, o] if row == 1 else 0.0
            for j in range(nonzeros):
                expected += value[row, j] * coefficients[position[row, j], o]
            gain[row, o] = (y[row, o] - expected) * scale
    for i in range(width):
        one, other, column, target = first[i], second[i], inverse[i], coefficients[i]
        for j in range(first.shape[0]):
            column[j] -= one * first[j] + other * second[j]
        for o in range(outputs):
            target[o] += one * gain[0, o] + other * gain[1, o]


@compiled
def expect(coefficients: Array, position: IntArray, value: Array, out: Array) -> None:
    """fᵀB of K rows of features, position and value (K, s), into out (K, dy)."""
    for k in range(position.shape[0]):
        for o in range(out.shape[1]):
            out[k, o] = 0.0
        for j in range(position.shape[1]):
            row, weight = coefficients[position[k, j]], value[k, j]
            for o in range(out.shape[1]):
                out[k, o] += weight * row[o]


@compiled
def expect_runs(fit: LeastSquares, position: IntArray, value: Array) -> Array:
    """fᵀB: position and value (R, K, s) → (R, K, dy)."""
    out = np.empty((position.shape[0], position.shape[1], fit.coefficients.shape[2]))
    for r in range(position.shape[0]):
        expect(fit.coefficients[r], position[r], value[r], out[r])
    return out


@compiled
def absorb_pairs(fit: LeastSquares, run: IntArray, position: IntArray, value: Array, y: Array) -> None:
    """Pairs in their order: run (n,), position and value (n, 2, s), y (n, 2, dy)."""
    for i in range(run.shape[0]):
        absorb_known(fit.inverse[run[i]], fit.coefficients[run[i]], position[i], value[i], y[i])
