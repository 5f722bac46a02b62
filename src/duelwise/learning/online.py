"""Compiled loops over votes as they arrive: the weight, the move of W, the online steps.

Votes come sorted by run and serving order; start (R + 1,) says where each run's
begin. A weight fixed at serving passes through (clip = ∞); RCDB's is taken here,
from W before its vote is added.
"""

from __future__ import annotations

import math

import numpy as np

from duelwise.learning.cholesky import invert
from duelwise.learning.compiled import compiled
from duelwise.learning.equations import adaptive_weight, add_duel, leverage
from duelwise.learning.links import mean, slope
from duelwise.types import Array, IntArray


@compiled
def _admit(
    i: int, r: int, dz: Array, weight: Array, clip: Array,
    matrix: Array, inverse: Array, log_det: Array, moves: IntArray, curvature: Array,
) -> None:  # fmt: skip
    """Fix the weight of vote i and move its run's W by it: (4) in W where the clip is finite, and (2)."""
    if clip[r] < np.inf:
        weight[i] *= adaptive_weight(leverage(dz[i], inverse[r]), clip[r])
    log_det[r] += add_duel(matrix[r], inverse[r], dz[i], curvature[r] * weight[i])
    moves[r] += 1


@compiled
def remember(
    r: int, low: int, high: int, dz: Array, weight: Array, outcome: Array, clip: Array,
    matrix: Array, inverse: Array, log_det: Array, moves: IntArray, curvature: Array,
    past_z: Array, past_weight: Array, past_outcome: Array, count: IntArray,
) -> None:  # fmt: skip
    """Move run r's W by votes low … high - 1 and append them to its history: past_z (R, d, capacity).

    A self-duel (Δz = 0) adds nothing to the estimating equation and is left out.
    """
    for i in range(low, high):
        empty = True
        for j in range(dz.shape[1]):
            empty = empty and dz[i, j] == 0.0
        if empty:
            continue
        _admit(i, r, dz, weight, clip, matrix, inverse, log_det, moves, curvature)
        place = int(count[r])
        for j in range(dz.shape[1]):
            past_z[r, j, place] = dz[i, j]
        past_weight[r, place], past_outcome[r, place] = weight[i], outcome[i]
        count[r] += 1


@compiled
def one_step(
    r: int, low: int, high: int, dz: Array, weight: Array, outcome: Array, clip: Array,
    matrix: Array, inverse: Array, log_det: Array, moves: IntArray, curvature: Array,
    theta: Array, link: int,
) -> None:  # fmt: skip
    """θ ← θ + W⁻¹ ω(o - g(θᵀ Δz))Δz for each vote of run r, W moved first: theta (R, d)."""
    d = dz.shape[1]
    for i in range(low, high):
        _admit(i, r, dz, weight, clip, matrix, inverse, log_det, moves, curvature)
        m = 0.0
        for j in range(d):
            m += theta[r, j] * dz[i, j]
        pull = weight[i] * (outcome[i] - mean(link, m))
        for j in range(d):
            v = 0.0
            for k in range(d):
                v += inverse[r, j, k] * dz[i, k]
            theta[r, j] += pull * v


@compiled
def one_pass(
    r: int, low: int, high: int, dz: Array, weight: Array, outcome: Array, clip: Array,
    matrix: Array, inverse: Array, log_det: Array, moves: IntArray, curvature: Array,
    theta: Array, link: int, eta: float, bound: float,
    hessian: Array, hessian_inverse: Array, hessian_log_det: Array, hessian_moves: IntArray,
) -> None:  # fmt: skip
    """One mirror-descent step for each vote of run r in the curvature H of the votes before it."""
    d = dz.shape[1]
    v = np.empty(d)
    for i in range(low, high):
        _admit(i, r, dz, weight, clip, matrix, inverse, log_det, moves, curvature)
        m, quadratic = 0.0, 0.0
        for j in range(d):
            m += theta[r, j] * dz[i, j]
            v[j] = 0.0
            for k in range(d):
                v[j] += hessian_inverse[r, j, k] * dz[i, k]
            quadratic += dz[i, j] * v[j]
        # H̃⁻¹z = H⁻¹z / (1 + ηωσ̇ zᵀH⁻¹z)
        ahead = eta * weight[i] * slope(link, m)
        pull = eta * weight[i] * (outcome[i] - mean(link, m)) / (1.0 + ahead * quadratic)
        square = 0.0
        for j in range(d):
            theta[r, j] += pull * v[j]
            square += theta[r, j] * theta[r, j]
        if square > bound * bound:
            metric = hessian[r].copy()
            for j in range(d):
                for k in range(d):
                    metric[j, k] += ahead * dz[i, j] * dz[i, k]
            project(theta[r], metric, bound)
        m = 0.0
        for j in range(d):
            m += theta[r, j] * dz[i, j]
        scale = weight[i] * slope(link, m)
        hessian_log_det[r] += add_duel(hessian[r], hessian_inverse[r], dz[i], scale)
        hessian_moves[r] += 1


@compiled
def project(theta: Array, metric: Array, bound: float) -> None:
    """The point of ‖θ‖ ≤ B nearest to theta (d,) in the norm of `metric` H̃ (d, d), in place.

    It is (H̃ + μI)⁻¹ H̃ θ with the μ ≥ 0 that makes its length B, found by bisection.
    """
    d = theta.shape[0]
    pulled = np.zeros(d)
    for j in range(d):
        for k in range(d):
            pulled[j] += metric[j, k] * theta[k]
    low, high = 0.0, 1.0
    while _length_shrunk(metric, pulled, high, theta) > bound:
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = 0.5 * (low + high)
        if _length_shrunk(metric, pulled, middle, theta) > bound:
            low = middle
        else:
            high = middle
    _length_shrunk(metric, pulled, high, theta)


@compiled
def _length_shrunk(metric: Array, pulled: Array, shift: float, out: Array) -> float:
    """(H̃ + μI)⁻¹ `pulled` into out (d,); returns its length."""
    d = out.shape[0]
    shifted = metric.copy()
    for j in range(d):
        shifted[j, j] += shift
    inverse = np.empty((d, d))
    invert(shifted, inverse)
    square = 0.0
    for j in range(d):
        out[j] = 0.0
        for k in range(d):
            out[j] += inverse[j, k] * pulled[k]
        square += out[j] * out[j]
    return math.sqrt(square)


@compiled
def arrive_and_remember(
    start: IntArray, dz: Array, weight: Array, outcome: Array, clip: Array,
    matrix: Array, inverse: Array, log_det: Array, moves: IntArray, curvature: Array,
    past_z: Array, past_weight: Array, past_outcome: Array, count: IntArray,
) -> None:  # fmt: skip
    """`remember` for every run."""
    for r in range(start.shape[0] - 1):
        remember(
            r, start[r], start[r + 1], dz, weight, outcome, clip, matrix, inverse, log_det, moves, curvature,
            past_z, past_weight, past_outcome, count,
        )  # fmt: skip


@compiled
def arrive_one_step(
    start: IntArray, dz: Array, weight: Array, outcome: Array, clip: Array,
    matrix: Array, inverse: Array, log_det: Array, moves: IntArray, curvature: Array,
    theta: Array, link: int,
) -> None:  # fmt: skip
    """`one_step` for every run."""
    for r in range(start.shape[0] - 1):
        one_step(
            r, start[r], start[r + 1], dz, weight, outcome, clip, matrix, inverse, log_det, moves, curvature,
            theta, link,
        )  # fmt: skip


@compiled
def arrive_one_pass(
    start: IntArray, dz: Array, weight: Array, outcome: Array, clip: Array,
    matrix: Array, inverse: Array, log_det: Array, moves: IntArray, curvature: Array,
    theta: Array, link: int, eta: float, bound: float,
    hessian: Array, hessian_inverse: Array, hessian_log_det: Array, hessian_moves: IntArray,
) -> None:  # fmt: skip
    """`one_pass` for every run."""
    for r in range(start.shape[0] - 1):
        one_pass(
            r, start[r], start[r + 1], dz, weight, outcome, clip, matrix, inverse, log_det, moves, curvature,
            theta, link, eta, bound, hessian, hessian_inverse, hessian_log_det, hessian_moves,
        )  # fmt: skip
