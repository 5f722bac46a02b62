"""The kernels of a round over many runs, behind a handle: what a learner calls from Python.

A check looks at everything before anything is changed, so a call is taken whole or refused whole.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from duelwise.learning.core import round as one_run
from duelwise.learning.core.jit import compiled
from duelwise.learning.core.pending import FREE, SERVED, Pending, find, has_room, release
from duelwise.learning.core.roles import keeps_votes, width_at
from duelwise.learning.core.state import Core
from duelwise.types import Array, IntArray

choose_one, serve_one, observe_one = one_run.choose, one_run.serve, one_run.observe
hear_one, is_ready, take_in, update = one_run.hear, one_run.is_ready, one_run.take_in, one_run.update

# The verdicts of a check.
FINE, NO_SUCH_RUN, NEVER_SERVED, FINISHED, REPEATED, NOT_FINITE, NO_OUTCOME, NO_ROOM = 0, 1, 2, 3, 4, 5, 6, 7


@compiled
def choose(core: Core, x: Array, predicted: Array, z: Array, noise: Array) -> tuple[IntArray, Array, Array]:
    """x (R, K, dx), predicted (R, K, dy), z (R, K, d) both, noise (R, K) → arms (R, 2), their x and y."""
    runs, dx, dy = x.shape[0], x.shape[2], predicted.shape[2]
    arms, pair_x = np.empty((runs, 2), dtype=np.int64), np.empty((runs, 2, dx))
    pair_predicted = np.empty((runs, 2, dy))
    for r in range(runs):
        first, second = choose_one(core, r, x[r], z[r], noise[r])
        arms[r, 0], arms[r, 1] = first, second
        for side in range(2):
            for j in range(dx):
                pair_x[r, side, j] = x[r, arms[r, side], j]
            for j in range(dy):
                pair_predicted[r, side, j] = predicted[r, arms[r, side], j]
    return arms, pair_x, pair_predicted


@compiled
def widths(core: Core) -> Array:
    """(R,) c_t."""
    out = np.empty(core.fit.theta.shape[0])
    for r in range(out.shape[0]):
        out[r] = width_at(core.width, core, r)
    return out


@compiled
def serve(core: Core, arms: IntArray, x: Array, predicted: Array, wanted: int) -> int:
    """Take in a duel of every run: arms (R, 2), x (R, 2, dx), predicted (R, 2, dy); FINE or NO_ROOM."""
    if not has_room(core.pending, 1):
        return NO_ROOM
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


@compiled
def _ready(core: Core, keeps: bool, run: IntArray, slots: IntArray) -> tuple[IntArray, IntArray]:
    """Of these duels, those that something can be learned from, each once, by run and in serving order.

    Where each run's begin (R + 1,), and their slots (n,).
    """
    p, rules = core.pending, core.fit.rules
    runs = p.out.shape[0]
    start, filled = np.zeros(runs + 1, dtype=np.int64), np.zeros(runs, dtype=np.int64)
    for i in range(run.shape[0]):
        if is_ready(p, rules, keeps, run[i], slots[i]):
            start[run[i] + 1] += 1
    for r in range(runs):
        start[r + 1] += start[r]
    ordered = np.empty(start[runs], dtype=np.int64)
    for i in range(run.shape[0]):
        r, slot = int(run[i]), int(slots[i])
        if is_ready(p, rules, keeps, r, slot):
            place = start[r] + filled[r]  # a run hands in few at once: move the later ones along
            while place > start[r] and p.round[r, ordered[place - 1]] > p.round[r, slot]:
                ordered[place] = ordered[place - 1]
                place -= 1
            ordered[place] = slot
            filled[r] += 1
    return _each_once(start, ordered)


@compiled
def _each_once(start: IntArray, ordered: IntArray) -> tuple[IntArray, IntArray]:
    """Without the repeats of a duel that several votes speak of: they stand side by side."""
    kept, n = np.zeros_like(start), 0
    for r in range(start.shape[0] - 1):
        for i in range(start[r], start[r + 1]):
            if i == start[r] or ordered[i] != ordered[i - 1]:
                ordered[n] = ordered[i]
                n += 1
        kept[r + 1] = n
    return kept, ordered[:n]


@compiled
def observe(
    core: Core, run: IntArray, round: IntArray, y: Array, imputed: bool, keeps: bool
) -> tuple[int, int, Array, IntArray, IntArray]:
    """Contexts y (n, 2, dy), NaN where still unknown, if nothing in them is known already: V moves.

    The verdict and its position, x (n, 2, dx) of the duels, and of those that something can now be
    learned from where each run's begin (R + 1,) and their slots.
    """
    p, n = core.pending, run.shape[0]
    slots, pairs = np.empty(n, dtype=np.int64), np.empty((n, 2, p.x.shape[3]))
    verdict, at = _find_all(p, run, round, slots)
    if verdict == FINE:
        verdict, at = _check_contexts(p, run, slots, y)
    if verdict != FINE:
        return verdict, at, pairs, slots, slots
    for i in range(n):
        for side in range(2):
            for j in range(p.x.shape[3]):
                pairs[i, side, j] = p.x[run[i], slots[i], side, j]
        observe_one(core, run[i], slots[i], y[i], imputed)
    start, ready = _ready(core, keeps, run, slots)
    return FINE, 0, pairs, start, ready


@compiled
def _check_contexts(p: Pending, run: IntArray, slots: IntArray, y: Array) -> tuple[int, int]:
    """Every duel lacks what is given here: tried in p.y, which is then left as it was."""
    verdict, tried, n = FINE, 0, run.shape[0]
    while tried < n and verdict == FINE:
        r, slot = run[tried], slots[tried]
        if p.state[r, slot] != SERVED:
            verdict = REPEATED
        for side in range(2):
            for j in range(y.shape[2]):
                if np.isinf(y[tried, side, j]):
                    verdict = NOT_FINITE
                elif not np.isnan(y[tried, side, j]) and not np.isnan(p.y[r, slot, side, j]):
                    verdict = REPEATED
        if verdict == FINE:
            _mark(p, r, slot, y[tried], True)
            tried += 1
    for i in range(tried):
        _mark(p, run[i], slots[i], y[i], False)
    return verdict, min(tried, n - 1)


@compiled
def _mark(p: Pending, r: int, slot: int, y: Array, known: bool) -> None:
    """Put what is given here into the duel, or take it out again; a duel without y is marked itself."""
    if y.shape[1] == 0:
        p.state[r, slot] = -SERVED if known else SERVED
    for side in range(2):
        for j in range(y.shape[1]):
            if not np.isnan(y[side, j]):
                p.y[r, slot, side, j] = y[side, j] if known else np.nan


@compiled
def hear(
    core: Core, run: IntArray, round: IntArray, vote: Array, keeps: bool
) -> tuple[int, int, IntArray, IntArray]:
    """Votes (n,), if each is 0, ½ or 1 and its duel waits for one; else none.

    The verdict and its position, then of the duels that are ready to be learned from where each
    run's begin (R + 1,) and their slots.
    """
    p, n = core.pending, run.shape[0]
    slots = np.empty(n, dtype=np.int64)
    verdict, at = _find_all(p, run, round, slots)
    if verdict != FINE:
        return verdict, at, slots, slots
    for i in range(n):
        if vote[i] != 0.0 and vote[i] != 0.5 and vote[i] != 1.0:
            return NO_OUTCOME, i, slots, slots
    heard = 0
    while heard < n and p.heard[run[heard], slots[heard]] < p.wanted[run[heard], slots[heard]]:
        hear_one(p, run[heard], slots[heard], vote[heard])
        heard += 1
    if heard < n:
        for i in range(heard):
            p.waiting[run[i], slots[i], int(2.0 * vote[i])] -= 1
            p.heard[run[i], slots[i]] -= 1
            p.out[run[i]] += 1
        return REPEATED, heard, slots, slots
    start, ready = _ready(core, keeps, run, slots)
    return FINE, 0, start, ready


@compiled
def learn(core: Core, estimate: Any, start: IntArray, slots: IntArray) -> tuple[IntArray, IntArray, Array]:
    """Every run's estimate follows its ready duels: run, round, final weight (n,) of the votes learned."""
    room = 0
    for r in range(core.fit.theta.shape[0]):
        for i in range(start[r], start[r + 1]):
            room += core.pending.wanted[r, slots[i]]
    run, round, weight = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64), np.empty(room)
    n = 0
    for r in range(core.fit.theta.shape[0]):
        if start[r] == start[r + 1]:
            continue
        arrivals = take_in(core, r, slots, start[r], start[r + 1])
        update(core, estimate, r, arrivals)
        for i in range(arrivals.outcome.shape[0]):
            for _ in range(arrivals.settled[i]):
                run[n], round[n], weight[n] = r, arrivals.round[i], arrivals.weight[i]
                n += 1
    return run[:n], round[:n], weight[:n]


@compiled
def keeps(estimate: Any) -> bool:
    """Whether the estimate can put a vote right after it was learned."""
    return keeps_votes(estimate)


@compiled
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


@compiled
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


@compiled
def all_finite(values: Array) -> bool:
    """Whether no value is NaN or infinite: any contiguous array."""
    flat = values.ravel()
    total = 0.0  # 0·v is 0 for every finite v and NaN otherwise: no branch in the loop
    for i in range(flat.shape[0]):
        total += 0.0 * flat[i]
    return total == 0.0


@compiled
def pairs_fit(arms: IntArray, candidates: int, distinct: bool) -> bool:
    """Whether every pair (R, 2) names candidates, and two of them where they must differ."""
    fit = True
    for r in range(arms.shape[0]):
        fit &= 0 <= arms[r, 0] < candidates and 0 <= arms[r, 1] < candidates
        fit &= not distinct or arms[r, 0] != arms[r, 1]
    return fit
