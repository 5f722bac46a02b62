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
from typing import NamedTuple

import numpy as np

from duelwise.learning.core.cholesky import invert
from duelwise.learning.core.equations import move_inverse
from duelwise.learning.core.intrinsics import fused, row_sums
from duelwise.learning.core.jit import compiled
from duelwise.learning.core.links import LOGISTIC, logistic, mean, means, slope
from duelwise.types import Array, IntArray

SLOW = 0.3  # a step that leaves more than this share of the gradient calls for a fresh Hessian
ENOUGH = 0.9  # a step is taken if it leaves at most this share
FLAT = 0.3  # a shortened step ends where the potential is at most this share as steep as at its start
SHRINK = 0.05  # how much shorter the next trial is while every one was too long
TRIALS = 60
CAREFUL = 30  # passes after which only steps down the potential count: the gradient alone may go in circles


class VoteHistory(NamedTuple):
    """The votes of R runs, a row for each duel, and what the next solution starts from."""

    z: Array  # (R, d, capacity) Δz
    weight: Array  # (R, capacity) of all votes on the duel together
    admitted: Array  # (R, capacity) the same as W holds it: a weighting may change `weight` later, W stays
    outcome: Array  # (R, capacity) their mean
    votes: Array  # (R, capacity) how many they are
    leverage: Array  # (R, capacity) ‖Δz‖ in V when their weight was fixed
    rank: Array  # (R, capacity) of the duel among those served of two different candidates, from 1
    scratch: Array  # (R, 2, capacity)
    held: IntArray  # (R,) rows
    known: IntArray  # (R,) rows in the gradient
    gradient: Array  # (R, d)
    inverse: Array  # (R, d, d) of the Hessian, roughly
    passes: IntArray  # (R,) over the history so far
    tolerance: float  # on the length of the gradient
    most_passes: int


class RunVotes(NamedTuple):
    """The votes of one run."""

    z: Array  # (d, capacity)
    weight: Array  # (capacity,)
    outcome: Array  # (capacity,)
    held: int


@compiled
def record_of(history: VoteHistory, r: int) -> RunVotes:
    """The votes of run r."""
    return RunVotes(history.z[r], history.weight[r], history.outcome[r], history.held[r])


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
def score(votes: RunVotes, theta: Array, ridge: float, link: int, residual: Array, out: Array) -> float:
    """The left side of the estimating equation at Θ into out (d,); returns its length."""
    z, weight, outcome, n = votes.z, votes.weight, votes.outcome, votes.held
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
def inverse_hessian(votes: RunVotes, theta: Array, ridge: float, link: int, work: Array, out: Array) -> None:
    """(λI + Σ ω ġ(Θᵀ Δz) Δz Δzᵀ)⁻¹ into out (d, d), from the whole history; work (2, capacity)."""
    z, weight, n, d = votes.z, votes.weight, votes.held, votes.z.shape[0]
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
def solve(history: VoteHistory, r: int, theta: Array, ridge: float, link: int) -> None:
    """Solve for run r after rows known … held - 1 were added: theta (d,) is changed in place.

    Θ, the gradient there over the first `known` rows and the inverse are warm starts.
    """
    for i in range(history.known[r], history.held[r]):
        count_row(history, r, i, theta, link, 1.0)
    history.known[r] = history.held[r]
    history.passes[r] += _descend(history, r, theta, ridge, link)


@compiled
def count_row(history: VoteHistory, r: int, i: int, theta: Array, link: int, sign: float) -> None:
    """Gradient and inverse with row i of run r in them (sign 1), or without it again (-1)."""
    gradient, d, dz = history.gradient[r], theta.shape[0], np.empty(theta.shape[0])
    m = 0.0
    for j in range(d):
        dz[j] = history.z[r, j, i]
        m += theta[j] * dz[j]
    pull = sign * history.weight[r, i] * (mean(link, m) - history.outcome[r, i])
    for j in range(d):
        gradient[j] += pull * dz[j]
    move_inverse(history.inverse[r], dz, sign * history.weight[r, i] * slope(link, m))


@compiled
def start_over(history: VoteHistory, r: int, theta: Array, ridge: float, link: int) -> None:
    """Gradient and inverse of run r afresh from the whole history, whose weights were changed."""
    votes, work = record_of(history, r), history.scratch[r]
    score(votes, theta, ridge, link, work[0], history.gradient[r])
    inverse_hessian(votes, theta, ridge, link, work, history.inverse[r])
    history.known[r] = history.held[r]


@compiled
def _descend(history: VoteHistory, r: int, theta: Array, ridge: float, link: int) -> int:
    """Newton's steps from the warm start until the gradient is short; returns the passes they took."""
    votes, work, tolerance = record_of(history, r), history.scratch[r], history.tolerance
    gradient, inverse, d = history.gradient[r], history.inverse[r], theta.shape[0]
    room = np.empty((4, d))
    dz, step, trial, ahead = room[0], room[1], room[2], room[3]
    norm = 0.0
    for j in range(d):
        norm += gradient[j] * gradient[j]
    norm = math.sqrt(norm)
    fresh = False
    passes = 0
    while norm > tolerance and passes < history.most_passes:
        careful = passes >= CAREFUL
        scale, short, long = 1.0, 0.0, np.inf  # steps known to be too short and too long
        for _ in range(TRIALS):
            start, end = 0.0, 0.0  # the slope of the potential along the step
            for i in range(d):
                step[i] = 0.0
                for j in range(d):
                    step[i] -= scale * inverse[i, j] * gradient[j]
                trial[i] = theta[i] + step[i]
            reached = score(votes, trial, ridge, link, work[0], ahead)
            passes += 1
            if reached <= tolerance or (reached <= ENOUGH * norm and not careful):
                break
            if not fresh:
                inverse_hessian(votes, theta, ridge, link, work, inverse)
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
                inverse_hessian(votes, theta, ridge, link, work, inverse)
                fresh = True
            else:
                correct_along(inverse, step, dz)
    return passes
