"""Pairs chosen and served one after another in a single compiled call: how a group of asks is decided."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from duelwise.learning.core.batch import FINE, NOT_FINITE, is_finite, is_sound, pick
from duelwise.learning.core.jit import compiled, compiled_when_it_pays
from duelwise.learning.core.pending import find
from duelwise.learning.core.round import observe
from duelwise.learning.core.sequence import OBSERVING, SERVING, Events, serve_next
from duelwise.learning.core.state import Core
from duelwise.learning.core.units import Units, in_units
from duelwise.types import Array, IntArray


class Offers(NamedTuple):
    """The candidates of asks, those of one after those of another, as they came; with room for more."""

    begin: IntArray  # (n + 1,) where the candidates of each begin
    x: Array  # (m, dx) on no side
    shown: Array  # (n, 2, c) of the pair that will be shown, the columns for its sides
    wanted: IntArray  # (n,) votes
    beyond: IntArray  # (n, dx) filled: how many candidates of each feature lie beyond the bounds


@compiled_when_it_pays
def choose_and_serve(
    core: Core, model: Any, offers: Offers, events: Events, units: Units, clamped: IntArray,
    first_offer: int, n: int,
) -> tuple[int, int]:  # fmt: skip
    """Run 0 chooses a pair of each of n offers, and serves it; where there is no y, it is known at once.

    The events are filled as if each pair had been gathered (event_batch.py), but for their number. The
    verdict on an offer of which nothing has happened, and its position; those before it are served.
    """
    p, most = core.pending, 0
    dx, dy = p.x.shape[3], p.y.shape[3]
    for i in range(first_offer, n):
        most = max(most, offers.begin[i + 1] - offers.begin[i])
    x, predicted, joined = np.empty((most, dx)), np.empty((most, dy)), np.empty((most, dx + dy))
    noise, place = np.zeros(most), first_offer * (1 if dy > 0 else 2)
    for i in range(first_offer, n):
        K = offers.begin[i + 1] - offers.begin[i]
        _measure(x, offers, i, units)
        verdict, first, second = pick(
            core, model, 0, x[:K], noise[:K], predicted[:K], joined[: K if dy > 0 else 0]
        )
        if verdict == FINE:
            _name_pair(events, offers, i, (first, second), predicted, units)
            verdict = FINE if is_finite(events.predicted[i]) and is_sound(core) else NOT_FINITE
        if verdict == FINE:
            events.kind[place], events.round[place], events.row[place] = SERVING, p.next_round[0], i
            verdict = serve_next(core, events, units, clamped, place)
        if verdict != FINE:
            return verdict, i
        place += 1
        if dy == 0:
            events.kind[place], events.round[place] = OBSERVING, events.round[place - 1]
            events.row[place], events.imputed[i] = i, 0
            slot = find(p, 0, events.round[place])
            observe(core, 0, slot, events.y[i], False)
            place += 1
    return FINE, n


@compiled
def _measure(out: Array, offers: Offers, i: int, units: Units) -> None:
    """out (K, dx) ← the candidates of offer i in units of their ranges, within their bounds."""
    begin = offers.begin[i]
    for j in range(out.shape[1]):
        offers.beyond[i, j] = 0
    for k in range(offers.begin[i + 1] - begin):
        for j in range(out.shape[1]):
            value = offers.x[begin + k, j]
            unit, beyond = in_units(value, units.centre[0, j], units.half[0, j], units.reach[0, j])
            offers.beyond[i, j] += 1 if beyond else 0
            out[k, j] = unit


@compiled
def _name_pair(
    events: Events, offers: Offers, i: int, pair: tuple[int, int], predicted: Array, units: Units
) -> None:
    """Row i of the events ← the pair of offer i, as it will be shown, and what is expected of it, raw."""
    dx, columns = offers.x.shape[1], offers.shown.shape[2]
    events.wanted[i] = offers.wanted[i]
    for side in range(2):
        arm = pair[side]
        events.arms[i, side] = arm
        for j in range(dx):
            events.x[i, side, j] = offers.x[offers.begin[i] + arm, j]
        for j in range(columns):
            events.x[i, side, j] = offers.shown[i, side, j]
        for j in range(predicted.shape[1]):
            centre, half = units.centre[0, dx + j], units.half[0, dx + j]
            events.predicted[i, side, j] = centre + half * predicted[arm, j]
