"""What happens to one run, one event after another, in a single compiled call: how logs are folded."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from duelwise.learning.core.batch import (
    FINE,
    FINISHED,
    NEVER_SERVED,
    NO_ROOM,
    NOT_FINITE,
    check_context,
    check_vote,
)
from duelwise.learning.core.jit import compiled, compiled_when_it_pays
from duelwise.learning.core.pending import FREE, Pending, find, has_room
from duelwise.learning.core.round import hear, is_ready, observe, serve, take_in, update
from duelwise.learning.core.state import Core
from duelwise.learning.core.units import Units, in_units
from duelwise.types import Array, IntArray

SERVING, OBSERVING, HEARING = 0, 1, 2


class Events(NamedTuple):
    """Events in their order, in arrays with room for more; each has a row in the arrays of its kind.

    Features are as they came; in units of their ranges they stand where something was observed.
    """

    counts: IntArray  # (4,) of all events, of duels, of contexts, of votes
    kind: IntArray  # (n,) SERVING, OBSERVING or HEARING
    round: IntArray  # (n,)
    row: IntArray  # (n,)
    arms: IntArray  # (n, 2) of duels that are served
    wanted: IntArray  # (n,)
    x: Array  # (n, 2, dx)
    predicted: Array  # (n, 2, dy)
    y: Array  # (n, 2, dy) of contexts, NaN where not known
    imputed: IntArray  # (n,) 1 where it is what φ̂ expects
    outcome: Array  # (n,) of votes
    seen_x: Array  # (n, 2, dx) in units, of the contexts' duels
    seen_y: Array  # (n, 2, dy) in units
    units: Array  # (2, d) of the event at hand


@compiled_when_it_pays
def happen(
    core: Core, estimate: Any, events: Events, units: Units, clamped: IntArray,
    begin: int, keeps: bool,
) -> tuple[int, int, IntArray, Array]:  # fmt: skip
    """Run 0 serves, observes and hears what the events from `begin` on say, with a solve for each vote.

    The verdict and its position: events before it have happened. Then round and final weight (m,) of the
    votes learned. `clamped` (1, d) counts what lay beyond the bounds.
    """
    r, p, dx, slots = 0, core.pending, core.pending.x.shape[3], np.empty(1, dtype=np.int64)
    room = _votes_within(p, r) + events.counts[3]
    round, weight, n = np.empty(room, dtype=np.int64), np.empty(room), 0
    for i in range(begin, events.counts[0]):
        kind, row, verdict = events.kind[i], events.row[i], FINE
        if kind == SERVING:
            verdict = serve_next(core, events, units, clamped, i)
            if verdict != FINE:
                return verdict, i, round[:n], weight[:n]
            continue
        slot = find(p, r, events.round[i])
        if slot == FREE:
            verdict = FINISHED if 0 <= events.round[i] < p.next_round[r] else NEVER_SERVED
        elif kind == OBSERVING:
            verdict = check_context(p, r, slot, events.y[row])
        else:
            verdict = check_vote(p, r, slot, float(events.outcome[row]))
        if verdict != FINE:
            return verdict, i, round[:n], weight[:n]
        if kind == OBSERVING:
            _scale(events.units, units, events.y[row], dx, clamped, True)
            for side in range(2):
                for j in range(dx):
                    events.seen_x[row, side, j] = p.x[r, slot, side, j]
                for j in range(events.seen_y.shape[2]):
                    events.seen_y[row, side, j] = events.units[side, dx + j]
            observe(core, r, slot, events.seen_y[row], events.imputed[row] == 1)
        else:
            hear(p, r, slot, float(events.outcome[row]))
        if is_ready(p, core.fit.rules, keeps, r, slot):
            slots[0] = slot
            arrivals = take_in(core, r, slots, 0, 1)
            update(core, estimate, r, arrivals)
            for k in range(arrivals.outcome.shape[0]):
                for _ in range(arrivals.settled[k]):
                    round[n], weight[n] = arrivals.round[k], arrivals.weight[k]
                    n += 1
    return FINE, 0, round[:n], weight[:n]


@compiled
def serve_next(core: Core, events: Events, units: Units, clamped: IntArray, i: int) -> int:
    """Run 0 serves the duel of event i; the verdict."""
    r, p, dx, row = 0, core.pending, core.pending.x.shape[3], events.row[i]
    if events.round[i] != p.next_round[r]:
        return NEVER_SERVED
    if not has_room(p, 1):
        return NO_ROOM
    _scale(events.units, units, events.x[row], 0, clamped, True)
    _scale(events.units, units, events.predicted[row], dx, clamped, False)
    if _make_whole(events.units) != FINE:
        return NOT_FINITE
    arms = (events.arms[row, 0], events.arms[row, 1])
    serve(core, r, arms, events.units[:, :dx], events.units[:, dx:], (0, 1), int(events.wanted[row]))
    return FINE


@compiled
def _scale(out: Array, units: Units, values: Array, first: int, clamped: IntArray, counted: bool) -> None:
    """out (2, d) from column `first` on ← values (2, n) in units of their ranges, within their bounds."""
    for side in range(2):
        for j in range(values.shape[1]):
            k = first + j
            unit, beyond = in_units(values[side, j], units.centre[0, k], units.half[0, k], units.reach[0, k])
            clamped[0, k] += 1 if beyond and counted else 0
            out[side, k] = unit


@compiled
def _make_whole(values: Array) -> int:
    """What is not a number stands in the middle of its range: there both of a pair (2, d) are alike."""
    for side in range(2):
        for j in range(values.shape[1]):
            if np.isnan(values[side, j]):
                values[side, j] = 0.0
            elif np.isinf(values[side, j]):
                return NOT_FINITE
    return FINE


@compiled
def _votes_within(p: Pending, r: int) -> int:
    """Votes that came before and may still be named as learned."""
    votes = 0
    for slot in range(p.round.shape[1]):
        if p.round[r, slot] != FREE:
            votes += p.heard[r, slot]
    return votes
