"""A round of Algorithm 1 for one run: choose, serve, observe, hear, learn. It is written here only.

The laboratory's compiled loop calls these kernels one after another; a learner calls them over its runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from duelwise.learning.core.equations import leverage, widest_pair
from duelwise.learning.core.geometry import move
from duelwise.learning.core.jit import compiled
from duelwise.learning.core.monitors import watch
from duelwise.learning.core.pending import (
    FREE,
    OBSERVED,
    SERVED,
    Pending,
    release,
    take_slot,
    times_out,
)
from duelwise.learning.core.roles import (
    absorb,
    learn,
    learns_parts,
    pair,
    predict,
    weigh_arrived,
    weigh_observed,
    weigh_served,
    width_at,
)
from duelwise.learning.core.state import (
    EXPLORES_ARRIVED,
    EXPLORES_REQUESTED,
    Arrivals,
    Core,
    Fit,
    Rules,
    Sight,
)
from duelwise.types import Array, IntArray


@compiled
def join(x: Array, predicted: Array, z: Array) -> None:
    """z (K, d) ← x (K, dx) beside predicted (K, dy)."""
    dx = x.shape[1]
    for k in range(x.shape[0]):
        for j in range(dx):
            z[k, j] = x[k, j]
        for j in range(predicted.shape[1]):
            z[k, dx + j] = predicted[k, j]


@compiled
def choose(core: Core, r: int, x: Array, z: Array, noise: Array) -> tuple[int, int]:
    """Steps 1 and 2: which pair of x (K, dx) to serve; z (K, d) is x with y as φ̂ predicts it."""
    fit = core.fit
    inverse = core.served.inverse
    if fit.rules.geometry == EXPLORES_ARRIVED:
        inverse = fit.arrived.inverse
    elif fit.rules.geometry == EXPLORES_REQUESTED:
        inverse = core.requested.inverse
        if knows_nothing(fit.theta[r]):
            return widest_pair(z, inverse[r])
    sight = Sight(
        z, fit.theta[r], inverse[r], width_at(core.width, core, r), fit.rules.distinct, noise,
        fit.votes[r], core.pending.out[r],
    )  # fmt: skip
    chosen = pair(core.select, sight)
    if fit.rules.geometry == EXPLORES_REQUESTED:
        times = times_out(core.pending, r, x[chosen[0]], x[chosen[1]], fit.rules.side_columns)
        if times > 0 and sight.out % 2 == 1:  # every other time what would tell most
            return widest_pair(z, sight.inverse)
        if times > 0:
            return pair(core.select, less_sure(sight, times))
    return chosen


@compiled
def less_sure(sight: Sight, times: int) -> Sight:
    """The more often the same pair is out without an answer, the less Θ̂ says which pair is next."""
    theta = np.empty(sight.theta.shape[0])
    for j in range(theta.shape[0]):
        theta[j] = sight.theta[j] / ((1.0 + times) * (1.0 + times) * (1.0 + times))
    return Sight(
        sight.z, theta, sight.inverse, sight.width, sight.distinct, sight.noise, sight.votes, sight.out
    )


@compiled
def knows_nothing(theta: Array) -> bool:
    """Whether Θ̂ (d,) ties all candidates."""
    nothing = True
    for j in range(theta.shape[0]):
        nothing = nothing and theta[j] == 0.0
    return nothing


@compiled
def serve(
    core: Core, r: int, arms: tuple[int, int], x: Array, predicted: Array, at: tuple[int, int], wanted: int
) -> int:
    """The pair `arms` is served for this many votes, rows `at` of x (n, dx) and predicted (n, dy).

    Where the learner explores in S, the duel counts there at once. Returns its slot.
    """
    p, dx = core.pending, x.shape[1]
    slot = take_slot(p, r)
    p.state[r, slot] = SERVED
    for side in range(2):
        p.arms[r, slot, side] = arms[side]
        for j in range(dx):
            p.x[r, slot, side, j] = x[at[side], j]
        for j in range(predicted.shape[1]):
            p.predicted[r, slot, side, j] = predicted[at[side], j]
            p.y[r, slot, side, j] = np.nan
    for j in range(dx):
        p.dz[r, slot, j] = x[at[0], j] - x[at[1], j]
    _difference(p, r, slot, False)
    p.wanted[r, slot], p.heard[r, slot] = wanted, 0
    p.waiting[r, slot, 0], p.waiting[r, slot, 1], p.waiting[r, slot, 2] = 0, 0, 0
    p.out[r] += wanted
    p.most_out[r] = max(p.most_out[r], p.out[r])
    if arms[0] != arms[1]:
        p.distinct[r] += 1
    p.rank[r, slot] = p.distinct[r]
    p.leverage[r, slot] = 0.0
    p.weight[r, slot] = weigh_served(core.fit.weigh, p, r, slot)
    if core.fit.rules.geometry == EXPLORES_REQUESTED:
        move(core.requested, r, p.dz[r, slot], core.fit.rules.curvature[r] * wanted)
    return slot


@compiled
def observe(core: Core, r: int, slot: int, y: Array, imputed: bool) -> bool:
    """Step 3, y (2, dy) of a served pair becomes known, NaN where it does not; whether it now is all known.

    Then Δz and ω are fixed and V moves: ω is (4) in V before this duel, V moves by (1). The score is
    prequential: the squared error of the predictions made at serving, beside the squared deviation of
    y from its running mean, for each side that is wholly observed.
    """
    p, scores = core.pending, core.scores
    dy, known = y.shape[1], True
    for side in range(2):
        before, after = dy > 0, True
        for j in range(dy):
            before = before and not np.isnan(p.y[r, slot, side, j])
            if not np.isnan(y[side, j]):
                p.y[r, slot, side, j] = y[side, j]
            after = after and not np.isnan(p.y[r, slot, side, j])
        known = known and after
        if before or not after or imputed:
            continue
        scores.contexts_seen[r] += 1
        for j in range(dy):
            value = p.y[r, slot, side, j]
            miss = value - p.predicted[r, slot, side, j]
            scores.prediction_error[r] += miss * miss
            deviation = value - scores.context_mean[r, j]
            scores.context_mean[r, j] += deviation / scores.contexts_seen[r]
            scores.context_spread[r] += deviation * (value - scores.context_mean[r, j])
    if known and core.fit.rules.geometry == EXPLORES_REQUESTED:
        _difference(p, r, slot, False)
        move(core.requested, r, p.dz[r, slot], -core.fit.rules.curvature[r] * p.wanted[r, slot])
    if core.fit.rules.observed:
        _difference(p, r, slot, True)
    if known:
        _fix(core, r, slot)
        rules = core.fit.rules
        watch(core.monitors, p, r, slot, imputed, core.fit.theta[r], rules.link, rules.curvature[r])
    return known


@compiled
def _difference(p: Pending, r: int, slot: int, seen: bool) -> None:
    """The post-serving part of Δz, from what was `seen` where it was, else from what was predicted."""
    dx = p.x.shape[3]
    for j in range(p.y.shape[3]):
        left, right = p.predicted[r, slot, 0, j], p.predicted[r, slot, 1, j]
        if seen and not np.isnan(p.y[r, slot, 0, j]):
            left = p.y[r, slot, 0, j]
        if seen and not np.isnan(p.y[r, slot, 1, j]):
            right = p.y[r, slot, 1, j]
        p.dz[r, slot, dx + j] = left - right


@compiled
def _fix(core: Core, r: int, slot: int) -> None:
    """Δz of a duel is final: so is ω, and V counts the duel."""
    p, dz = core.pending, core.pending.dz[r, slot]
    if core.fit.rules.geometry == EXPLORES_REQUESTED:
        move(core.requested, r, dz, core.fit.rules.curvature[r] * p.wanted[r, slot])
    p.leverage[r, slot] = leverage(dz, core.served.inverse[r])
    p.weight[r, slot] = weigh_observed(core.fit.weigh, p, r, slot)
    move(core.served, r, dz, core.fit.rules.curvature[r] * p.weight[r, slot] * p.wanted[r, slot])
    p.state[r, slot] = OBSERVED


@compiled
def hear(p: Pending, r: int, slot: int, outcome: float) -> None:
    """Step 3, a vote on a served pair arrives."""
    p.waiting[r, slot, int(2.0 * outcome)] += 1
    p.heard[r, slot] += 1
    p.out[r] -= 1


@compiled
def is_ready(p: Pending, rules: Rules, keeps: bool, r: int, slot: int) -> bool:
    """Whether there is something to learn: votes on a known Δz, or a provisional Δz that became final.

    An estimate that keeps its votes learns them before y is known, if they tell anything then.
    """
    votes = p.waiting[r, slot, 0] + p.waiting[r, slot, 1] + p.waiting[r, slot, 2]
    if p.state[r, slot] == OBSERVED:
        return votes > 0 or p.provisional[r, slot] == 1
    return votes > 0 and keeps and rules.provisional and not knows_nothing(p.dz[r, slot])


@compiled
def _entries(p: Pending, r: int, slot: int) -> int:
    """How many entries of `Arrivals` a ready duel makes."""
    votes = p.waiting[r, slot, 0] + p.waiting[r, slot, 1] + p.waiting[r, slot, 2]
    return votes + _is_final_now(p, r, slot)


@compiled
def take_in(core: Core, r: int, slots: IntArray, low: int, high: int) -> Arrivals:
    """The votes in slots[low:high], in that order; a duel that lacks nothing more waits no longer."""
    p, n = core.pending, 0
    for i in range(low, high):
        n += _entries(p, r, int(slots[i]))
    d = p.dz.shape[2]
    dz, weight, outcome, levers = np.empty((n, d)), np.empty(n), np.empty(n), np.empty(n)
    round, rank = np.empty(n, np.int64), np.empty(n, np.int64)
    row, kept, settled = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    n = 0
    for i in range(low, high):
        slot = int(slots[i])
        if p.state[r, slot] == SERVED:  # ω as it would be if Δz were what is predicted
            p.leverage[r, slot] = leverage(p.dz[r, slot], core.served.inverse[r])
            p.weight[r, slot] = weigh_observed(core.fit.weigh, p, r, slot)
        begin, final, votes = n, _is_final_now(p, r, slot), _entries(p, r, slot)
        for kind in range(-final, 3):
            for _ in range(1 if kind < 0 else p.waiting[r, slot, kind]):
                for j in range(d):
                    dz[n, j] = p.dz[r, slot, j]
                weight[n], outcome[n] = p.weight[r, slot], np.nan if kind < 0 else 0.5 * kind
                levers[n], round[n], rank[n] = p.leverage[r, slot], p.round[r, slot], p.rank[r, slot]
                row[n], kept[n] = p.row[r, slot], slot
                settled[n] = 1 if p.state[r, slot] == OBSERVED else 0
                n += 1
        if final == 1:
            settled[begin] = p.heard[r, slot] - (votes - 1)  # those that were learned before y was known
        p.waiting[r, slot, 0], p.waiting[r, slot, 1], p.waiting[r, slot, 2] = 0, 0, 0
        p.provisional[r, slot] = 1 if p.state[r, slot] == SERVED else 0
        if p.state[r, slot] == OBSERVED and p.heard[r, slot] >= p.wanted[r, slot]:
            release(p, r, slot)
            for k in range(begin, n):
                kept[k] = FREE
    return Arrivals(round, dz, weight, outcome, levers, rank, row, kept, settled)


@compiled
def _is_final_now(p: Pending, r: int, slot: int) -> int:
    """1 where votes were learned with a Δz that has changed since."""
    return 1 if p.provisional[r, slot] == 1 and p.state[r, slot] == OBSERVED else 0


@compiled
def update(core: Core, estimate: object, r: int, arrivals: Arrivals) -> None:
    """Step 4: W and Θ̂ follow the votes that arrived."""
    fit = core.fit
    learn(estimate, fit, r, arrivals)
    for i in range(arrivals.outcome.shape[0]):
        if not np.isnan(arrivals.outcome[i]):
            fit.votes[r] += 1
        if arrivals.slot[i] != FREE:
            core.pending.row[r, arrivals.slot[i]] = arrivals.row[i]


@compiled
def admit(fit: Fit, r: int, arrivals: Arrivals, i: int) -> None:
    """Fix the weight of vote i as learned, and move W by it (2)."""
    dz = arrivals.dz[i]
    arrivals.weight[i] = weigh_arrived(fit.weigh, fit, r, dz, arrivals.weight[i])
    move(fit.arrived, r, dz, fit.rules.curvature[r] * arrivals.weight[i])
    fit.admitted[r] += 1


@compiled
def absorb_seen(model: Any, r: int, x: Array, y: Array) -> None:
    """`absorb` of a pair, x (2, dx), of whose y (2, dy) some may be unknown (NaN); nothing where dy is 0."""
    if y.shape[1] == 0:
        return
    gaps = False
    for side in range(2):
        for j in range(y.shape[1]):
            gaps = gaps or np.isnan(y[side, j])
    if not gaps or learns_parts(model):
        absorb(model, r, x, y)
        return
    filled = np.empty(y.shape)
    predict(model, r, x, filled)
    for side in range(2):
        for j in range(y.shape[1]):
            if not np.isnan(y[side, j]):
                filled[side, j] = y[side, j]
    absorb(model, r, x, filled)
