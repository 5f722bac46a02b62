"""The compiled solver of the estimating equation over the arrived votes.

    λΘ + Σ_s ω_s (g(Θᵀ Δz_s) - o_s) Δz_s = 0        (the optimality condition of (3))

A vote changes the left side by one term, so its value at the old Θ is known
without looking at the history, and the inverse Hessian moves by a rank-one
update. Newton's step with that inverse, corrected along the step just taken
(BFGS), then needs one or two passes over the history; when a step fails to
shrink the gradient, the Hessian is computed afresh, and if that fails too the
step is shortened until the potential still falls where it ends: the potential is
convex, so it is then lower there. ‖gradient‖ alone would be a poor guide, it can
rise on the way to the minimum of saturated votes. Every run stops on its own gradient.

The history of a run is stored by coordinate, z (d, capacity), so that every
loop runs over consecutive votes and vectorises.
"""

from __future__ import annotations

import math

import numpy as np

from duelwise.learning.cholesky import invert
from duelwise.learning.compiled import compiled
from duelwise.learning.equations import move_inverse
from duelwise.learning.intrinsics import fused, row_sums
from duelwise.learning.links import LOGISTIC, logistic, mean, means, slope
from duelwise.types import Array, IntArray

SLOW = 0.3  # a step that leaves more than this share of the gradient calls for a fresh Hessian
ENOUGH = 0.9  # a step is taken if it leaves at most this share
FLAT = 0.3  # a shortened step ends where the potential is at most this share as steep as at its start
SHRINK = 0.05  # how much shorter the next trial is while every one was too long
TRIALS = 60
CAREFUL = 30  # passes after which only steps down the potential count: the gradient alone may go in circles


@compiled
def margins(z: Array, theta: Array, n: int, out: Array) -> None:
    """Θᵀ Δz_s for the first n votes: z (d, capacity) → out (n,)."""
    d, j = z.shape[0], 0
    for i in range(n):
        out[i] = 0.0
    while j + 5 <= d:
        t0, t1, t2, t3, t4 = theta[j], theta[j + 1], theta[j + 2], theta[j + 3], theta[j + 4]
        z0, z1, z2, z3, z4 = z[j], z[j + 1], z[j + 2], z[j + 3], z[j + 4]
        for i in range(n):
            m = fused(t2, z2[i], fused(t1, z1[i], fused(t0, z0[i], out[i])))
            out[i] = fused(t4, z4[i], fused(t3, z3[i], m))
        j += 5
    while j < d:
        t, row = theta[j], z[j]
        for i in range(n):
            out[i] = fused(t, row[i], out[i])
        j += 1


@compiled
def score(
    z: Array,
    weight: Array,
    outcome: Array,
    n: int,
    theta: Array,
    ridge: float,
    link: int,
    residual: Array,
    out: Array,
) -> float:
    """The left side of the estimating equation at Θ into out (d,); returns its length."""
    margins(z, theta, n, residual)
    if link == LOGISTIC:
        for i in range(n):
            residual[i] = weight[i] * (logistic(residual[i]) - outcome[i])
    else:
        means(link, residual[:n], residual)
        for i in range(n):
            residual[i] = weight[i] * (residual[i] - outcome[i])
    row_sums(z, residual, n, out)
    square = 0.0
    for j in range(z.shape[0]):
        out[j] = fused(ridge, theta[j], out[j])
        square += out[j] * out[j]
    return math.sqrt(square)


@compiled
def inverse_hessian(
    z: Array, weight: Array, n: int, theta: Array, ridge: float, link: int, work: Array, out: Array
) -> None:
    """(λI + Σ ω ġ(Θᵀ Δz) Δz Δzᵀ)⁻¹ into out (d, d), from the whole history."""
    d = z.shape[0]
    curvature, row = work[0], work[1]
    margins(z, theta, n, curvature)
    for i in range(n):
        curvature[i] = weight[i] * slope(link, curvature[i])
    hessian = np.empty((d, d))
    for j in range(d):
        for i in range(n):
            row[i] = curvature[i] * z[j, i]
        row_sums(z[j:], row, n, hessian[j, j:])
        for k in range(j, d):
            hessian[k, j] = hessian[j, k]
        hessian[j, j] += ridge
    invert(hessian, out)


@compiled
def correct_along(inverse: Array, step: Array, change: Array) -> None:
    """The BFGS update: inverse (d, d) learns that `change` of the gradient came from `step`."""
    d = step.shape[0]
    curvature = 0.0
    for i in range(d):
        curvature += step[i] * change[i]
    if curvature <= 0.0:
        return
    v = np.zeros(d)
    for i in range(d):
        for j in range(d):
            v[j] += change[i] * inverse[i, j]
    quadratic = 0.0
    for i in range(d):
        quadratic += change[i] * v[i]
    along = (1.0 + quadratic / curvature) / curvature
    for i in range(d):
        for j in range(d):
            inverse[i, j] += along * step[i] * step[j] - (v[i] * step[j] + step[i] * v[j]) / curvature


@compiled
def solve(
    z: Array, weight: Array, outcome: Array, known: int, n: int, ridge: float, link: int,
    theta: Array, gradient: Array, inverse: Array, tolerance: float, most: int, work: Array,
) -> int:  # fmt: skip
    """Solve for one run after votes known..n-1 were added; returns the passes over the history.

    theta (d,), gradient (d,) (its value at theta over the first `known` votes) and
    inverse (d, d) are warm starts and are changed in place.
    """
    d = z.shape[0]
    room = np.empty((4, d))
    dz, step, trial, ahead = room[0], room[1], room[2], room[3]
    for i in range(known, n):
        m = 0.0
        for j in range(d):
            dz[j] = z[j, i]
            m += theta[j] * dz[j]
        pull = weight[i] * (mean(link, m) - outcome[i])
        for j in range(d):
            gradient[j] += pull * dz[j]
        move_inverse(inverse, dz, weight[i] * slope(link, m))
    norm = 0.0
    for j in range(d):
        norm += gradient[j] * gradient[j]
    norm = math.sqrt(norm)
    fresh = False
    passes = 0
    while norm > tolerance and passes < most:
        careful = passes >= CAREFUL
        scale, short, long = 1.0, 0.0, np.inf  # steps known to be too short and too long
        for _ in range(TRIALS):
            start, end = 0.0, 0.0  # the slope of the potential along the step
            for i in range(d):
                step[i] = 0.0
                for j in range(d):
                    step[i] -= scale * inverse[i, j] * gradient[j]
                trial[i] = theta[i] + step[i]
            reached = score(z, weight, outcome, n, trial, ridge, link, work[0], ahead)
            passes += 1
            if reached <= tolerance or (reached <= ENOUGH * norm and not careful):
                break
            if not fresh:
                inverse_hessian(z, weight, n, theta, ridge, link, work, inverse)
                fresh = True
                continue
            for i in range(d):
                end += ahead[i] * step[i]
                start += gradient[i] * step[i]
            if end > 0.0:
                long = scale
            elif long == np.inf or end >= FLAT * start:
                break
            else:
                short = scale
            scale = 0.5 * (short + long) if short > 0.0 else SHRINK * long
        else:
            return passes  # the gradient is at the limit of the arithmetic
        slow = careful or reached > SLOW * norm
        for j in range(d):
            theta[j] = trial[j]
            dz[j] = ahead[j] - gradient[j]
            gradient[j] = ahead[j]
        norm = reached
        fresh = False
        if norm > tolerance:
            if slow:
                inverse_hessian(z, weight, n, theta, ridge, link, work, inverse)
                fresh = True
            else:
                correct_along(inverse, step, dz)
    return passes


@compiled
def solve_runs(
    z: Array, weight: Array, outcome: Array, known: IntArray, count: IntArray, ridge: Array, link: int,
    theta: Array, gradient: Array, inverse: Array, tolerance: float, most: int, passes: IntArray,
) -> None:  # fmt: skip
    """`solve` for every run with new votes: z (R, d, capacity), weight and outcome (R, capacity)."""
    for r in range(z.shape[0]):
        if count[r] > known[r]:
            work = np.empty((2, count[r]))
            passes[r] += solve(
                z[r], weight[r], outcome[r], known[r], count[r], ridge[r], link,
                theta[r], gradient[r], inverse[r], tolerance, most, work,
            )  # fmt: skip
            known[r] = count[r]
