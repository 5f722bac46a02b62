"""The compiled round of rollout.py: one run, one round, the steps of simulation.py in their order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from duelwise.learning.compiled import compiled
from duelwise.learning.equations import adaptive_weight, add_duel, leverage
from duelwise.learning.intrinsics import borrowed
from duelwise.learning.maximum_likelihood import solve
from duelwise.learning.online import one_pass, one_step, remember
from duelwise.learning.post_serving.recursive import absorb, expect
from duelwise.learning.post_serving.spline import hats
from duelwise.learning.selecting import pair_of
from duelwise.types import Array, BoolArray, IntArray

FULL_MLE, ONE_STEP, ONE_PASS = 0, 1, 2


class Rules(NamedTuple):
    """What all runs share."""

    select: int  # code of selecting.pair_of
    served: bool  # explores in V, else in W
    observed: bool  # Δz from the observed y, else from the predicted
    distinct: bool
    link: int
    estimate: int  # FULL_MLE, ONE_STEP or ONE_PASS
    tolerance: float
    most_passes: int
    step_size: float
    norm_bound: float
    knots: int  # of the spline
    low: float
    high: float
    flips_better: bool  # flips votes for the better arm, where `may_flip` and the leverage allow
    least_leverage: float
    flip_budget: int
    delays_good: bool  # delays by `delay` only where a served arm has positive utility
    delay_budget: int


class Block(NamedTuple):
    """What the world and the adversaries have ready for a block of rounds."""

    x: Array  # (rounds, U, K, dx) U: different run numbers
    y: Array  # (rounds, U, K, dy) as far as the learner may see it
    utility: Array  # (rounds, U, K)
    expected: Array  # (rounds, U, K)
    hurdle: Array  # (rounds, U)
    entry: IntArray  # (R,) into U
    noise: Array  # (rounds, R, K) that the selection rule adds
    may_flip: BoolArray  # (rounds, R)
    delay: IntArray  # (rounds, R)


class State(NamedTuple):
    """The learner's own arrays, changed in place. The first axis is the run."""

    clip: Array
    clip_on_arrival: Array
    curvature: Array
    ridge: Array
    width: Array
    V: Array
    V_inverse: Array
    V_log_det: Array
    V_moves: IntArray
    W: Array
    W_inverse: Array
    W_log_det: Array
    W_moves: IntArray
    theta: Array
    fit_inverse: Array  # the spline's A
    fit: Array  # the spline's B
    z: Array  # full MLE: the history, and its warm starts
    weight: Array
    outcome: Array
    known: IntArray
    held: IntArray
    gradient: Array
    inverse: Array
    passes: IntArray
    H: Array  # one pass: its own curvature
    H_inverse: Array
    H_log_det: Array
    H_moves: IntArray
    votes: IntArray


class Queue(NamedTuple):
    """Votes on their way, each run's in serving order, and what the adversaries have spent."""

    length: IntArray  # (R,)
    due: IntArray  # (R, places)
    dz: Array  # (R, places, d)
    weight: Array  # (R, places)
    vote: Array  # (R, places)
    flips: IntArray  # (R,)
    delays: IntArray  # (R,)


class Record(NamedTuple):
    """What is kept of every round."""

    regret: Array  # (R, T)
    distinct_regret: Array  # (R, T)
    arms: NDArray[np.int32]  # (R, T, 2)


@compiled
def _learn(r: int, dz: Array, weight: Array, vote: Array, rules: Rules, s: State, work: Array) -> None:
    """Votes (n,) of run r that arrived together, as `Estimate.learn` takes them."""
    n = len(vote)
    if rules.estimate == ONE_STEP:
        one_step(
            r, 0, n, dz, weight, vote, s.clip_on_arrival, s.W, s.W_inverse, s.W_log_det, s.W_moves,
            s.curvature, s.theta, rules.link,
        )  # fmt: skip
    elif rules.estimate == ONE_PASS:
        one_pass(
            r, 0, n, dz, weight, vote, s.clip_on_arrival, s.W, s.W_inverse, s.W_log_det, s.W_moves,
            s.curvature, s.theta, rules.link, rules.step_size, rules.norm_bound,
            s.H, s.H_inverse, s.H_log_det, s.H_moves,
        )  # fmt: skip
    else:
        remember(
            r, 0, n, dz, weight, vote, s.clip_on_arrival, s.W, s.W_inverse, s.W_log_det, s.W_moves,
            s.curvature, s.z, s.weight, s.outcome, s.held,
        )  # fmt: skip
        if s.held[r] > s.known[r]:
            s.passes[r] += solve(
                s.z[r], s.weight[r], s.outcome[r], s.known[r], s.held[r], s.ridge[r], rules.link,
                s.theta[r], s.gradient[r], s.inverse[r], rules.tolerance, rules.most_passes, work,
            )  # fmt: skip
            s.known[r] = s.held[r]
    s.votes[r] += n


@compiled
def _deliver(t: int, r: int, q: Queue) -> tuple[Array, Array, Array]:
    """Take out of run r's queue what is due by round t: Δz (n, d), ω and vote (n,), in serving order."""
    n = 0
    for i in range(q.length[r]):
        n += q.due[r, i] <= t
    dz, weight, vote = np.empty((n, q.dz.shape[2])), np.empty(n), np.empty(n)
    taken = 0
    for i in range(q.length[r]):
        if q.due[r, i] <= t:
            weight[taken], vote[taken] = q.weight[r, i], q.vote[r, i]
            for j in range(dz.shape[1]):
                dz[taken, j] = q.dz[r, i, j]
            taken += 1
        elif taken > 0:
            kept = i - taken
            q.due[r, kept], q.weight[r, kept], q.vote[r, kept] = q.due[r, i], q.weight[r, i], q.vote[r, i]
            for j in range(dz.shape[1]):
                q.dz[r, kept, j] = q.dz[r, i, j]
    q.length[r] -= n
    return dz, weight, vote


@compiled
def _serve(
    i: int, r: int, rules: Rules, b: Block, s: State, z: Array, dz: Array
) -> tuple[int, int, float, float]:
    """Predict, choose, observe: the pair, the weight of its vote and its leverage; V and φ̂ move."""
    u, dx, dy = int(b.entry[r]), b.x.shape[3], s.fit.shape[2]
    predicted = np.zeros((z.shape[0], dy))
    if dy > 0:  # a world without y pays nothing for it
        position, value = hats(b.x[i, u : u + 1], rules.low, rules.high, rules.knots)
        expect(s.fit[r], position[0], value[0], predicted)
    for k in range(z.shape[0]):
        for j in range(dx):
            z[k, j] = b.x[i, u, k, j]
        for j in range(dy):
            z[k, dx + j] = predicted[k, j]
    inverse = s.V_inverse[r] if rules.served else s.W_inverse[r]
    first, second = pair_of(rules.select, z, s.theta[r], inverse, s.width[r], rules.distinct, b.noise[i, r])
    for j in range(dx + dy):
        dz[j] = z[first, j] - z[second, j]
    pair = np.empty((2, dy))
    for j in range(dy):
        pair[0, j], pair[1, j] = b.y[i, u, first, j], b.y[i, u, second, j]
        if rules.observed:
            dz[dx + j] = pair[0, j] - pair[1, j]
    norm = leverage(dz, s.V_inverse[r])
    weight = adaptive_weight(norm, s.clip[r])
    s.V_log_det[r] += add_duel(s.V[r], s.V_inverse[r], dz, s.curvature[r] * weight)
    s.V_moves[r] += 1
    if dy > 0:
        served = np.empty((1, 2, dx))
        for j in range(dx):
            served[0, 0, j], served[0, 1, j] = z[first, j], z[second, j]
        position, value = hats(served, rules.low, rules.high, rules.knots)
        absorb(s.fit_inverse[r], s.fit[r], position[0], value[0], pair)
    return first, second, weight, norm


@compiled
def _send(
    t: int, i: int, r: int, first: int, second: int, norm: float, weight: float, dz: Array,
    rules: Rules, b: Block, q: Queue,
) -> None:  # fmt: skip
    """Vote, corrupt, else delay, and put on the way."""
    u = int(b.entry[r])
    lead = b.utility[i, u, first] - b.utility[i, u, second]
    vote, delay = (1.0 if lead > b.hurdle[i, u] else 0.0), 0
    flip = b.may_flip[i, r] and norm >= rules.least_leverage
    if rules.flips_better:
        flip = flip and lead * (vote - 0.5) > 0.0
    if flip and q.flips[r] < rules.flip_budget:
        vote = 1.0 - vote
        q.flips[r] += 1
    elif not rules.delays_good or max(b.utility[i, u, first], b.utility[i, u, second]) > 0.0:
        delay = min(b.delay[i, r], rules.delay_budget - q.delays[r])
        q.delays[r] += delay
    place = int(q.length[r])
    q.due[r, place], q.weight[r, place], q.vote[r, place] = t + delay, weight, vote
    for j in range(len(dz)):
        q.dz[r, place, j] = dz[j]
    q.length[r] += 1


@compiled
def _keep(t: int, i: int, r: int, first: int, second: int, b: Block, kept: Record) -> None:
    """The regret of the pair, as regret.py defines it."""
    expected = b.expected[i, int(b.entry[r])]
    best, next_best = -np.inf, -np.inf
    for value in expected:
        if value > best:
            best, next_best = value, best
        elif value > next_best:
            next_best = value
    kept.regret[r, t] = 0.5 * ((best - expected[first]) + (best - expected[second]))
    kept.distinct_regret[r, t] = 0.5 * ((best - expected[first]) + (next_best - expected[second]))
    kept.arms[r, t, 0], kept.arms[r, t, 1] = first, second


@compiled
def play_block(
    begin: int, rounds: int, low: int, high: int, rules: Rules, b: Block, s: State, q: Queue, kept: Record
) -> None:
    """Rounds begin … begin + rounds - 1 for runs low … high - 1."""
    b, s, q, kept = borrowed(b), borrowed(s), borrowed(q), borrowed(kept)
    d = s.theta.shape[1]
    z, dz = np.empty((b.x.shape[2], d)), np.empty(d)
    work = np.empty((2, s.weight.shape[1]))
    for r in range(low, high):
        for i in range(rounds):
            t = begin + i
            first, second, weight, norm = _serve(i, r, rules, b, s, z, dz)
            _send(t, i, r, first, second, norm, weight, dz, rules, b, q)
            arrived, weights, votes = _deliver(t, r, q)
            if len(votes) > 0:
                _learn(r, arrived, weights, votes, rules, s, work)
            _keep(t, i, r, first, second, b, kept)
