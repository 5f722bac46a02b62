"""What happens to one run, one event after another, in a single compiled call: how logs are folded."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from duelwise.learning.core.batch import FINE, FINISHED, NEVER_SERVED, NO_OUTCOME, NOT_FINITE, REPEATED
from duelwise.learning.core.jit import compiled
from duelwise.learning.core.pending import FREE, SERVED, Pending, find
from duelwise.learning.core.round import hear, is_ready, observe, serve, take_in, update
from duelwise.learning.core.state import Core, Handle
from duelwise.types import Array, IntArray

SERVING, OBSERVING, HEARING = 0, 1, 2


class Sequence(NamedTuple):
    """Events in their order; each has a row in the arrays of its kind."""

    kind: IntArray  # (n,) SERVING, OBSERVING or HEARING
    round: IntArray  # (n,)
    row: IntArray  # (n,)
    arms: IntArray  # (s, 2) of duels that are served
    wanted: IntArray  # (s,)
    x: Array  # (s, 2, dx)
    predicted: Array  # (s, 2, dy)
    y: Array  # (o, 2, dy) of contexts, NaN where not known
    imputed: IntArray  # (o,) 1 where it is what φ̂ expects
    outcome: Array  # (v,) of votes


@compiled
def happen(
    handle: Handle[Core], estimate: Handle[Any], r: int, events: Sequence, keeps: bool
) -> tuple[int, int, Array, IntArray, Array]:
    """Serve, observe and hear as the events say, with one solve for each that something is learned from.

    The verdict and its position: events before it have happened. Then x (o, 2, dx) of the duels that were
    observed, and round and final weight (m,) of the votes learned.
    """
    core, held = handle.held, estimate.held
    p, dx = core.pending, core.pending.x.shape[3]
    pairs, slots = np.empty((events.y.shape[0], 2, dx)), np.empty(1, dtype=np.int64)
    room = _votes_within(p, r) + events.outcome.shape[0]
    round, weight, n = np.empty(room, dtype=np.int64), np.empty(room), 0
    for i in range(events.kind.shape[0]):
        kind, row = events.kind[i], events.row[i]
        if kind == SERVING:
            if events.round[i] != p.next_round[r]:
                return NEVER_SERVED, i, pairs, round[:n], weight[:n]
            arms = (events.arms[row, 0], events.arms[row, 1])
            serve(core, r, arms, events.x[row], events.predicted[row], (0, 1), events.wanted[row])
            continue
        if events.round[i] < 0 or events.round[i] >= p.next_round[r]:
            return NEVER_SERVED, i, pairs, round[:n], weight[:n]
        slot = find(p, r, events.round[i])
        if slot == FREE:
            return FINISHED, i, pairs, round[:n], weight[:n]
        if kind == OBSERVING:
            verdict = _check_context(p, r, slot, events.y[row])
            if verdict != FINE:
                return verdict, i, pairs, round[:n], weight[:n]
            for side in range(2):
                for j in range(dx):
                    pairs[row, side, j] = p.x[r, slot, side, j]
            observe(core, r, slot, events.y[row], events.imputed[row] == 1)
        else:
            outcome = events.outcome[row]
            if outcome != 0.0 and outcome != 0.5 and outcome != 1.0:
                return NO_OUTCOME, i, pairs, round[:n], weight[:n]
            if p.heard[r, slot] >= p.wanted[r, slot]:
                return REPEATED, i, pairs, round[:n], weight[:n]
            hear(p, r, slot, outcome)
        if is_ready(p, core.fit.rules, keeps, r, slot):
            slots[0] = slot
            arrivals = take_in(core, r, slots, 0, 1)
            update(core, held, r, arrivals)
            for k in range(arrivals.outcome.shape[0]):
                for _ in range(arrivals.settled[k]):
                    round[n], weight[n] = arrivals.round[k], arrivals.weight[k]
                    n += 1
    return FINE, 0, pairs, round[:n], weight[:n]


@compiled
def _votes_within(p: Pending, r: int) -> int:
    """Votes that came before and may still be named as learned."""
    votes = 0
    for slot in range(p.round.shape[1]):
        if p.round[r, slot] != FREE:
            votes += p.heard[r, slot]
    return votes


@compiled
def _check_context(p: Pending, r: int, slot: int, y: Array) -> int:
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
