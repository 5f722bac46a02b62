"""Compiled loops over votes as they arrive: the weight, the move of W, the online steps.

Votes come sorted by run and serving order; start (R + 1,) says where each run's
begin. A weight fixed at serving passes through (clip = ∞); RCDB's is taken here,
from W before its vote is added.
"""

from __future__ import annotations

import math

import numpy as np

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
def arrive_and_remember(
    start: IntArray, dz: Array, weight: Array, outcome: Array, clip: Array,
    matrix: Array, inverse: Array, log_det: Array, moves: IntArray, curvature: Array,
    past_z: Array, past_weight: Array, past_outcome: Array, count: IntArray,
) -> None:  # fmt: skip
    """Move W by each vote and append it to its run's history: past_z (R, d, capacity).

    A self-duel (Δz = 0) adds nothing to the estimating equation and is left out.
    """
    for r in range(start.shape[0] - 1):
        for i in range(start[r], start[r + 1]):
            if not dz[i].any():
                continue
            _admit(i, r, dz, weight, clip, matrix, inverse, log_det, moves, curvature)
            past_z[r, :, count[r]] = dz[i]
            past_weight[r, count[r]] = weight[i]
            past_outcome[r, count[r]] = outcome[i]
            count[r] += 1


@compiled
def arrive_one_step(
    start: IntArray, dz: Array, weight: Array, outcome: Array, clip: Array,
    matrix: Array, inverse: Array, log_det: Array, moves: IntArray, curvature: Array,
    theta: Array, link: int,
) -> None:  # fmt: skip
    """θ ← θ + W⁻¹ ω(o - g(θᵀ Δz))Δz for each vote, W moved first: theta (R, d)."""
    d = dz.shape[1]
    for r in range(start.shape[0] - 1):
        for i in range(start[r], start[r + 1]):
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
def arrive_one_pass(
    start: IntArray, dz: Array, weight: Array, outcome: Array, clip: Array,
    matrix: Array, inverse: Array, log_det: Array, moves: IntArray, curvature: Array,
    theta: Array, link: int, eta: float, bound: float,
    hessian: Array, hessian_inverse: Array, hessian_log_det: Array, hessian_moves: IntArray,
) -> None:  # fmt: skip
    """One mirror-descent step for each vote in the curvature H of the votes before it: theta (R, d)."""
    d = dz.shape[1]
    v = np.empty(d)
    for r in range(start.shape[0] - 1):
        for i in range(start[r], start[r + 1]):
            _admit(i, r, dz, weight, clip, matrix, inverse, log_det, moves, curvature)
            m = 0.0
            quadratic = 0.0
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
                project(theta[r], hessian[r] + ahead * np.outer(dz[i], dz[i]), bound)
            m = 0.0
            for j in range(d):
                m += theta[r, j] * dz[i, j]
            scale = weight[i] * slope(link, m)
            hessian_log_det[r] += add_duel(hessian[r], hessian_inverse[r], dz[i], scale)
            hessian_moves[r] += 1


@compiled
def project(theta: Array, metric: Array, bound: float) -> None:
    """The point of ‖θ‖ ≤ B nearest to theta in the norm of `metric`, in place.

    It is (H̃ + μI)⁻¹ H̃ θ with the μ ≥ 0 that makes its length B, found by bisection
    in the eigenbasis of H̃.
    """
    values, basis = np.linalg.eigh(metric)
    pulled = values * (basis.T @ theta)
    low, high = 0.0, 1.0
    while math.sqrt(np.sum((pulled / (values + high)) ** 2)) > bound:
        high *= 2.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        if math.sqrt(np.sum((pulled / (values + middle)) ** 2)) > bound:
            low = middle
        else:
            high = middle
    theta[:] = basis @ (pulled / (values + high))
