"""The parts of the work that cannot be left out, compiled to be timed by themselves; see limits.py."""

from __future__ import annotations

import numpy as np

from duelwise.learning.core.equations import add_duel, second_arm
from duelwise.learning.core.intrinsics import row_sums
from duelwise.learning.core.jit import compiled
from duelwise.learning.core.links import LOGISTIC, logistic
from duelwise.learning.core.monitors import Monitors, watch
from duelwise.learning.core.pending import Pending
from duelwise.learning.estimation.maximum_likelihood import RunVotes, score
from duelwise.learning.post_serving.recursive import absorb_rows
from duelwise.types import Array, IntArray

HIDDEN = 64  # of the paper's network


@compiled
def scores(z: Array, weight: Array, outcome: Array, theta: Array, lengths: IntArray, room: Array) -> float:
    """Whole passes over the first n votes, for each n of lengths."""
    out, total = np.empty_like(theta), 0.0
    for n in lengths:
        total += score(RunVotes(z, weight, outcome, n), theta, 1.0, LOGISTIC, room, out)
    return total


@compiled
def exponentials(margins: Array, lengths: IntArray, out: Array) -> None:
    """The exponentials of those passes."""
    for n in lengths:
        for i in range(n):
            out[i] = logistic(margins[i])


@compiled
def readings(z: Array, residual: Array, lengths: IntArray, out: Array) -> None:
    """Two sums over the history for each pass: as much as its margins and its gradient read."""
    for n in lengths:
        for _ in range(2):
            row_sums(z, residual, n, out)


@compiled
def absorb_all(A: Array, B: Array, position: IntArray, value: Array, y: Array, times: int) -> None:
    """A spline's pair, again and again."""
    for _ in range(times):
        absorb_rows(A, B, position, value, y)


@compiled
def touch(matrix: Array, times: int) -> None:
    """Read and write a matrix."""
    flat = matrix.ravel()
    for _ in range(times):
        for i in range(flat.shape[0]):
            flat[i] = -flat[i]


@compiled
def products(count: int, steps: int) -> None:
    """The eight products of every step, chunk by chunk as the network takes its rows."""
    x, h, e = np.ones((64, 11), np.float32), np.ones((64, HIDDEN), np.float32), np.ones((64, 10), np.float32)
    W1, W2 = np.ones((11, HIDDEN), np.float32), np.ones((HIDDEN, HIDDEN), np.float32)
    W3, W3_back = np.ones((HIDDEN, 10), np.float32), np.ones((10, HIDDEN), np.float32)
    out, back = np.empty((64, HIDDEN), np.float32), np.empty((64, HIDDEN), np.float32)
    P1, P2, P3 = np.empty_like(W1), np.empty_like(W2), np.empty_like(W3)
    for _ in range(steps * ((count + 63) // 64)):
        np.dot(x, W1, out)
        np.dot(h, W2, out)
        np.dot(h, W3, e)
        np.dot(h.T, e, P3)
        np.dot(e, W3_back, back)
        np.dot(h.T, back, P2)
        np.dot(back, W2, out)
        np.dot(x.T, out, P1)


@compiled
def moves(matrix: Array, inverse: Array, z: Array, dz: Array, times: int) -> int:
    """A challenger and three rank-one moves a round."""
    other = inverse.copy()
    total = 0
    for _ in range(times):
        total += second_arm(z, dz, inverse, 0, 1.0, True)
        for _ in range(3):
            add_duel(matrix, other, dz, 1e-9)
    return total


@compiled
def look_at_nothing(m: Monitors, p: Pending, theta: Array, times: int) -> None:
    """Monitors that are off, again and again."""
    for _ in range(times):
        watch(m, p, 0, 0, False, theta, LOGISTIC, 0.25)
