"""A round of Algorithm 1 for one run: choose, serve, observe, hear, learn. It is written here only.

The laboratory's compiled loop calls these kernels one after another; a learner calls them over its runs.
"""

from __future__ import annotations

import numpy as np

from duelwise.learning.core.equations import leverage
from duelwise.learning.core.geometry import move
from duelwise.learning.core.jit import inlined
from duelwise.learning.core.monitors import watch
from duelwise.learning.core.pending import OBSERVED, SERVED, Pending, release, take_slot
from duelwise.learning.core.roles import learn, pair, weigh_arrived, weigh_observed, width_at
from duelwise.learning.core.state import EXPLORES_SERVED, Arrivals, Core, Fit, Sight
from duelwise.types import Array, IntArray


@inlined
def choose(core: Core, r: int, x: Array, predicted: Array, noise: Array, z: Array) -> tuple[int, int]:
    """Steps 1 and 2: which pair of x (K, dx), predicted (K, dy) to serve; z (K, d) is filled on the way."""
    dx = x.shape[1]
    for k in range(x.shape[0]):
        for j in range(dx):
            z[k, j] = x[k, j]
        for j in range(predicted.shape[1]):
            z[k, dx + j] = predicted[k, j]
    fit = core.fit
    inverse = core.served.inverse[r] if fit.rules.geometry == EXPLORES_SERVED else fit.arrived.inverse[r]
    sight = Sight(
        z, fit.theta[r], inverse, width_at(core.width, core, r), fit.rules.distinct, noise,
        fit.votes[r], core.pending.out[r],
    )  # fmt: skip
    return pair(core.select, sight)


@inlined
def serve(p: Pending, r: int, arms: tuple[int, int], x: Array, predicted: Array, at: tuple[int, int]) -> int:
    """The pair `arms` is served, rows `at` of x (n, dx) and predicted (n, dy); returns its slot."""
    slot = take_slot(p, r)
    p.state[r, slot] = SERVED
    p.weight[r, slot], p.leverage[r, slot], p.outcome[r, slot] = 1.0, 0.0, np.nan
    for j in range(p.dz.shape[2]):
        p.dz[r, slot, j] = 0.0
    for side in range(2):
        p.arms[r, slot, side] = arms[side]
        for j in range(x.shape[1]):
            p.x[r, slot, side, j] = x[at[side], j]
        for j in range(predicted.shape[1]):
            p.predicted[r, slot, side, j] = predicted[at[side], j]
    p.out[r] += 1
    return slot


@inlined
def observe(core: Core, r: int, slot: int, y: Array) -> None:
    """Step 3, y (2, dy) of a served pair is known: Δz and ω are fixed, V moves, φ̂'s score is kept.

    ω is (4) in V before this duel; V moves by (1). The score is prequential: the squared error of the
    predictions made at serving, beside the squared deviation of y from its running mean.
    """
    p, scores = core.pending, core.scores
    dx = p.x.shape[3]
    for j in range(dx):
        p.dz[r, slot, j] = p.x[r, slot, 0, j] - p.x[r, slot, 1, j]
    for j in range(y.shape[1]):
        if core.fit.rules.observed:
            p.dz[r, slot, dx + j] = y[0, j] - y[1, j]
        else:
            p.dz[r, slot, dx + j] = p.predicted[r, slot, 0, j] - p.predicted[r, slot, 1, j]
    for side in range(2):
        scores.contexts_seen[r] += 1
        for j in range(y.shape[1]):
            scores.prediction_error[r] += (y[side, j] - p.predicted[r, slot, side, j]) ** 2
            before = y[side, j] - scores.context_mean[r, j]
            scores.context_mean[r, j] += before / scores.contexts_seen[r]
            scores.context_spread[r] += before * (y[side, j] - scores.context_mean[r, j])
    dz = p.dz[r, slot]
    p.leverage[r, slot] = leverage(dz, core.served.inverse[r])
    p.weight[r, slot] = weigh_observed(core.fit.weigh, p, r, slot)
    move(core.served, r, dz, core.fit.rules.curvature[r] * p.weight[r, slot])
    p.state[r, slot] = OBSERVED
    rules = core.fit.rules
    watch(core.monitors, p, r, slot, y, core.fit.theta[r], rules.link, rules.curvature[r])


@inlined
def hear(p: Pending, r: int, slot: int, outcome: float) -> None:
    """Step 3, the vote of a served pair arrives."""
    p.outcome[r, slot] = outcome
    p.out[r] -= 1


@inlined
def is_ready(p: Pending, r: int, slot: int) -> bool:
    """Whether the duel has both context and vote."""
    return p.state[r, slot] == OBSERVED and not np.isnan(p.outcome[r, slot])


@inlined
def take_in(p: Pending, r: int, slots: IntArray, low: int, high: int) -> Arrivals:
    """The votes in slots[low:high], in that order; their duels wait no longer."""
    d, n = p.dz.shape[2], high - low
    dz, weight, outcome = np.empty((n, d)), np.empty(n), np.empty(n)
    for i in range(n):
        slot = int(slots[low + i])
        for j in range(d):
            dz[i, j] = p.dz[r, slot, j]
        weight[i], outcome[i] = p.weight[r, slot], p.outcome[r, slot]
        release(p, r, slot)
    return Arrivals(dz, weight, outcome)


@inlined
def update(fit: Fit, estimate: object, r: int, arrivals: Arrivals) -> None:
    """Step 4: W and Θ̂ follow the votes that arrived."""
    learn(estimate, fit, r, arrivals)
    fit.votes[r] += arrivals.outcome.shape[0]


@inlined
def admit(fit: Fit, r: int, arrivals: Arrivals, i: int) -> None:
    """Fix the weight of vote i as learned, and move W by it (2)."""
    dz = arrivals.dz[i]
    arrivals.weight[i] = weigh_arrived(fit.weigh, fit, r, dz, arrivals.weight[i])
    move(fit.arrived, r, dz, fit.rules.curvature[r] * arrivals.weight[i])
