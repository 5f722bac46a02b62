"""The kernels of a round over many runs, behind a handle: what a learner calls from Python.

A check looks at everything before anything is changed, so a call is taken whole or refused whole.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from duelwise.learning.core import round as one_run
from duelwise.learning.core.jit import compiled, compiled_when_it_pays
from duelwise.learning.core.pending import FREE, SERVED, Pending, find, has_room, release
from duelwise.learning.core.roles import keeps_votes, predict
from duelwise.learning.core.state import Core
from duelwise.types import Array, IntArray

choose_one, serve_one, observe_one = one_run.choose, one_run.serve, one_run.observe
hear_one, is_ready, take_in, update = one_run.hear, one_run.is_ready, one_run.take_in, one_run.update
join, absorb_seen = one_run.join, one_run.absorb_seen

# The verdicts of a check.
FINE, NO_SUCH_RUN, NEVER_SERVED, FINISHED, REPEATED = 0, 1, 2, 3, 4
NOT_FINITE, NO_OUTCOME, NO_ROOM, NO_PAIR = 5, 6, 7, 8


@compiled_when_it_pays
def choose(core: Core, model: Any, x: Array, noise: Array) -> tuple[int, IntArray, Array, Array]:
    """x (R, K, dx), noise (R, K) → arms (R, 2), their x and what the model predicts; nothing is changed."""
    runs, K, dx = x.shape
    dy = core.pending.y.shape[3]
    arms, pair_x, pair_y = np.empty((runs, 2), np.int64), np.empty((runs, 2, dx)), np.empty((runs, 2, dy))
    predicted, joined = np.empty((K, dy)), np.empty((K if dy > 0 else 0, dx + dy))
    for r in range(runs):
        verdict, first, second = pick(core, model, r, x[r], noise[r], predicted, joined)
        if verdict != FINE:
            arms[r, 0], arms[r, 1] = first, second
            return verdict, arms, pair_x, pair_y
        for side in range(2):
            arm = second if side else first
            arms[r, side] = arm
            for j in range(dx):
                pair_x[r, side, j] = x[r, arm, j]
            for j in range(dy):
                pair_y[r, side, j] = predicted[arm, j]
    return FINE, arms, pair_x, pair_y


@compiled
def pick(
    core: Core, model: Any, r: int, x: Array, noise: Array, predicted: Array, joined: Array
) -> tuple[int, int, int]:
    """Run r's pair of x (K, dx), noise (K,): a verdict, the first and the second.

    Into predicted (K, dy) goes what the model expects; joined (K, d) is room, and empty where dy is 0.
    """
    if not is_finite(x):
        return NOT_FINITE, 0, 0
    K, z = x.shape[0], x  # a hundred thousand candidates are not copied: new memory is slow at first touch
    if predicted.shape[1] > 0:
        predict(model, r, x, predicted)
        join(x, predicted, joined)
        z = joined
    first, second = choose_one(core, r, x, z, noise)
    if min(first, second) < 0 or max(first, second) >= K or (core.fit.rules.distinct and first == second):
        return NO_PAIR, first, second
    return FINE, first, second


@compiled_when_it_pays
def is_finite(values: Array) -> bool:
    """Whether none of values (n, d) is NaN or infinite."""
    total = 0.0  # 0·v is 0 for every finite v and NaN otherwise: no branch in the loop
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            total += 0.0 * values[i, j]
    return total == 0.0


@compiled_when_it_pays
def serve(core: Core, arms: IntArray, x: Array, predicted: Array, wanted: int) -> int:
    """Take in a duel of every run: arms (R, 2), x (R, 2, dx), predicted (R, 2, dy)."""
    if not has_room(core.pending, 1):
        return NO_ROOM
    for r in range(arms.shape[0]):
        if not is_finite(x[r]) or not is_finite(predicted[r]):
            return NOT_FINITE
    for r in range(arms.shape[0]):
        serve_one(core, r, (arms[r, 0], arms[r, 1]), x[r], predicted[r], (0, 1), wanted)
    return FINE


@compiled
def _find_all(held: Pending, run: IntArray, round: IntArray, slots: IntArray) -> tuple[int, int]:
    """Look every (run, round) up into slots (n,); the verdict and the position it speaks of."""
    for i in range(run.shape[0]):
        if run[i] < 0 or run[i] >= held.out.shape[0]:
            return NO_SUCH_RUN, i
        if round[i] < 0 or round[i] >= held.next_round[run[i]]:
            return NEVER_SERVED, i
        slots[i] = find(held, run[i], round[i])
        if slots[i] == FREE:
            return FINISHED, i
    return FINE, 0


class Ready(NamedTuple):
    """Room for the duels that a call speaks of, and for those of them that something can be learned from."""

    slots: IntArray  # (n,) of the duels that were named
    first: IntArray  # (R,) where each run's ready duels begin in `ordered`
    last: IntArray  # (R,) and end
    ordered: IntArray  # (n,) slots, by run and in serving order, each once


def room_for(n: int, *, runs: int) -> Ready:
    """For calls about this many duels."""
    return Ready(*(np.zeros(size, np.int64) for size in (n, runs, runs, n)))


@compiled
def _find_ready(core: Core, ready: Ready, keeps: bool, run: IntArray) -> int:
    """Of the duels in `slots`, those that something can be learned from; how many there are."""
    p, rules, first, last, ordered = core.pending, core.fit.rules, ready.first, ready.last, ready.ordered
    end, found = run.shape[0], 0
    for r in range(first.shape[0]):
        first[r] = 0
    for i in range(run.shape[0]):
        first[run[i]] += 1
    for r in range(first.shape[0] - 1, -1, -1):
        end -= first[r]
        first[r] = end
        last[r] = end
    for i in range(run.shape[0]):
        r, slot = run[i], ready.slots[i]
        if not is_ready(p, rules, keeps, r, slot):
            continue
        place = last[r]  # a run hands in few at once: look from the end
        while place > first[r] and p.round[r, ordered[place - 1]] > p.round[r, slot]:
            place -= 1
        if place > first[r] and ordered[place - 1] == slot:
            continue  # another vote on the same duel
        for later in range(last[r], place, -1):
            ordered[later] = ordered[later - 1]
        ordered[place] = slot
        last[r] += 1
        found += 1
    return found


@compiled_when_it_pays
def observe(
    core: Core, model: Any, ready: Ready, run: IntArray, round: IntArray, y: Array, imputed: bool, keeps: bool
) -> tuple[int, int]:
    """Contexts y (n, 2, dy), NaN where still unknown, if nothing in them is known already: V moves.

    The model learns what was seen. The verdict, and its position or how many duels are ready.
    """
    p = core.pending
    verdict, at = _find_all(p, run, round, ready.slots)
    if verdict == FINE:
        verdict, at = _check_contexts(p, run, ready.slots, y)
    if verdict != FINE:
        return verdict, at
    for i in range(run.shape[0]):
        r, slot = run[i], ready.slots[i]
        observe_one(core, r, slot, y[i], imputed)
        if not imputed:
            absorb_seen(model, r, p.x[r, slot], y[i])
    return FINE, _find_ready(core, ready, keeps, run)


@compiled
def _check_contexts(p: Pending, run: IntArray, slots: IntArray, y: Array) -> tuple[int, int]:
    """Every duel lacks what is given here: tried in p.y, which is then left as it was."""
    verdict, tried, n = FINE, 0, run.shape[0]
    while tried < n and verdict == FINE:
        r, slot = run[tried], slots[tried]
        verdict = check_context(p, r, slot, y[tried])
        if verdict == FINE:
            _mark(p, r, slot, y[tried], True)
            tried += 1
    for i in range(tried):
        _mark(p, run[i], slots[i], y[i], False)
    return verdict, min(tried, n - 1)


@compiled
def check_context(p: Pending, r: int, slot: int, y: Array) -> int:
    """Whether the duel lacks what y (2, dy) gives."""
    if p.state[r, slot] != SERVED:
        return REPEATED
    for side in range(2):
        for j in range(y.shape[1]):
            if np.isinf(y[side, j]):
                return NOT_FINITE
            if not np.isnan(y[side, j]) and not np.isnan(p.y[r, slot, side, j]):
                return REPEATED
    return FINE


@compiled
def _mark(p: Pending, r: int, slot: int, y: Array, known: bool) -> None:
    """Put what is given here into the duel, or take it out again; a duel without y is marked itself."""
    if y.shape[1] == 0:
        p.state[r, slot] = -SERVED if known else SERVED
    for side in range(2):
        for j in range(y.shape[1]):
            if not np.isnan(y[side, j]):
                p.y[r, slot, side, j] = y[side, j] if known else np.nan


@compiled_when_it_pays
def hear(
    core: Core, ready: Ready, run: IntArray, round: IntArray, vote: Array, keeps: bool
) -> tuple[int, int]:
    """Votes (n,), if each is 0, ½ or 1 and its duel waits for one; else none.

    The verdict, and its position or how many duels are ready.
    """
    p, n, slots = core.pending, run.shape[0], ready.slots
    verdict, at = _find_all(p, run, round, slots)
    heard = 0
    while verdict == FINE and heard < n:
        r, slot = run[heard], slots[heard]
        verdict, at = check_vote(p, r, slot, vote[heard]), heard
        if verdict == FINE:
            hear_one(p, r, slot, vote[heard])
            heard += 1
    if verdict == FINE:
        return FINE, _find_ready(core, ready, keeps, run)
    for i in range(heard):
        p.waiting[run[i], slots[i], int(2.0 * vote[i])] -= 1
        p.heard[run[i], slots[i]] -= 1
        p.out[run[i]] += 1
    return verdict, at


@compiled
def check_vote(p: Pending, r: int, slot: int, outcome: float) -> int:
    """Whether the duel waits for a vote, and this is one."""
    if outcome != 0.0 and outcome != 0.5 and outcome != 1.0:
        return NO_OUTCOME
    return FINE if p.heard[r, slot] < p.wanted[r, slot] else REPEATED


@compiled_when_it_pays
def learn(core: Core, estimate: Any, ready: Ready) -> tuple[IntArray, IntArray, Array]:
    """Every run's estimate follows its ready duels: run, round, final weight (n,) of the votes learned."""
    n, first, last = 0, ready.first, ready.last
    for r in range(first.shape[0]):
        for i in range(first[r], last[r]):
            n += _settled(core.pending, r, ready.ordered[i])
    run, round, weight = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    n = 0
    for r in range(first.shape[0]):
        if first[r] == last[r]:
            continue
        arrivals = take_in(core, r, ready.ordered, first[r], last[r])
        update(core, estimate, r, arrivals)
        for i in range(arrivals.outcome.shape[0]):
            for _ in range(arrivals.settled[i]):
                run[n], round[n], weight[n] = r, arrivals.round[i], arrivals.weight[i]
                n += 1
    return run, round, weight


@compiled
def _settled(p: Pending, r: int, slot: int) -> int:
    """How many votes of a ready duel have their final weight once it is learned."""
    if p.state[r, slot] == SERVED:
        return 0
    if p.provisional[r, slot] == 1:
        return p.heard[r, slot]
    return p.waiting[r, slot, 0] + p.waiting[r, slot, 1] + p.waiting[r, slot, 2]


@compiled_when_it_pays
def tell(
    core: Core, estimate: Any, ready: Ready, run: IntArray, round: IntArray, vote: Array
) -> tuple[int, int, IntArray, IntArray, Array]:
    """`hear`, then `learn` at once: the verdict and its position, then run, round and final weight."""
    verdict, at = hear(core, ready, run, round, vote, keeps_votes(estimate))
    if verdict != FINE:
        return verdict, at, run, round, vote
    run, round, weight = learn(core, estimate, ready)
    return FINE, 0, run, round, weight


@compiled_when_it_pays
def forget(core: Core, run: int, round: int) -> int:
    """The duel waits for its vote no longer; the verdict."""
    p = core.pending
    slots = np.empty(1, dtype=np.int64)
    verdict, _ = _find_all(p, np.full(1, run), np.full(1, round), slots)
    if verdict == FINE:
        slot = int(slots[0])
        p.out[run] -= p.wanted[run, slot] - p.heard[run, slot]
        release(p, run, slot)
    return verdict


@compiled_when_it_pays
def look(core: Core, round: int) -> tuple[int, int, IntArray, Array, Array, Array]:
    """Arms (R, 2), Δz (R, d), ω and leverage (R,) of a round for which every run waits."""
    p = core.pending
    runs, d = p.dz.shape[0], p.dz.shape[2]
    arms, dz = np.empty((runs, 2), dtype=np.int64), np.empty((runs, d))
    weight, leverage, slots = np.empty(runs), np.empty(runs), np.empty(runs, dtype=np.int64)
    run, rounds = np.empty(runs, dtype=np.int64), np.empty(runs, dtype=np.int64)
    for r in range(runs):
        run[r], rounds[r] = r, round
    verdict, at = _find_all(p, run, rounds, slots)
    if verdict == FINE:
        for r in range(runs):
            slot = int(slots[r])
            arms[r, 0], arms[r, 1] = p.arms[r, slot, 0], p.arms[r, slot, 1]
            for j in range(d):
                dz[r, j] = p.dz[r, slot, j]
            weight[r], leverage[r] = p.weight[r, slot], p.leverage[r, slot]
    return verdict, at, arms, dz, weight, leverage


@compiled_when_it_pays
def is_sound(core: Core) -> bool:
    """Whether Θ̂ and both geometries' inverses are finite, in every run."""
    fit, served = core.fit, core.served
    sound = is_finite(fit.theta)
    for r in range(fit.theta.shape[0]):
        sound = sound and is_finite(served.inverse[r]) and is_finite(fit.arrived.inverse[r])
    return sound


def all_finite(values: Array) -> bool:
    """Whether no value is NaN or infinite: an array of any shape."""
    return is_finite(values.reshape(1, -1))
