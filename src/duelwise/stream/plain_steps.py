"""Which of many events are plain steps of tickets that want one vote, and what they lead to, all at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from duelwise.learning.core.sequence import HEARING, OBSERVING, SERVING
from duelwise.stream.columns import ODD, Columns
from duelwise.stream.lifecycle import FIRST, ON_CONTEXT, ON_VOTE, STATES
from duelwise.types import BoolArray, IntArray

_CODES = {state: code for code, state in enumerate(STATES)}
_NEW, _NONE = len(STATES), len(STATES) + 1  # no ticket yet, and a ticket of which nothing more is said
LONGEST_LIFE = 3  # a duel, its context, its vote: whatever follows is not plain
# Kinds beside SERVING, OBSERVING and HEARING: a duel with its context, and others.
_KNOWN_AT_ONCE, _ODD = 3, 4
WINDOWS = (16, 512)  # events that are looked at first: where few are plain, the many behind them are not


@cache
def _life(votes_first: bool) -> IntArray:
    """(states, kinds) what each kind of event leads to: lifecycle.py as a table."""
    life: IntArray = np.full((_NONE + 1, _ODD + 1), _NONE, dtype=np.int64)
    life[_NEW, SERVING], life[_NEW, _KNOWN_AT_ONCE] = _CODES[FIRST[False]], _CODES[FIRST[True]]
    for before, after in ON_CONTEXT.items():
        if votes_first or before == FIRST[False]:
            life[_CODES[before], OBSERVING] = _CODES[after]
    for before, after in ON_VOTE.items():
        life[_CODES[before], HEARING] = _CODES[after]
    return life


def plain_steps(
    events: Columns, *, first: int, state_of: Callable[[int], str], votes_first: bool
) -> tuple[int, dict[int, str]]:
    """How many events from the first on are plain steps, and the states that they lead to, by round.

    New duels have rounds from `first` on; `state_of` says where an earlier one stands, "" where its steps
    are not plain. Unless votes may come first, a context after its vote is not plain.
    """
    if len(events) and events.round[0] < first and not state_of(int(events.round[0])):
        return 0, {}  # as with every vote where each duel wants several
    life = _life(votes_first)
    for window in WINDOWS:
        if window < len(events):
            plain, states = _steps(events.part(0, window), first, state_of, life)
            if plain < window:
                return plain, states
    return _steps(events, first, state_of, life)


def _steps(
    events: Columns, first: int, state_of: Callable[[int], str], life: IntArray
) -> tuple[int, dict[int, str]]:
    order = np.argsort(events.round, kind="stable")
    sorted_rounds = events.round[order]
    is_first = np.diff(sorted_rounds, prepend=sorted_rounds[:1] - 1) > 0  # of its round
    place = np.flatnonzero(is_first)
    rounds, count = sorted_rounds[place], np.diff(place, append=len(events))
    kind, served = np.where(events.kind == ODD, _ODD, events.kind), events.kind == SERVING
    kind[np.flatnonzero(served)[events.asked.at_once]] = _KNOWN_AT_ONCE
    odd: BoolArray = np.zeros(len(events), dtype=np.bool_)
    odd[served] = events.round[served] != first + np.arange(np.count_nonzero(served))
    earlier = rounds < first
    state: IntArray = np.full(len(rounds), _NEW, dtype=np.int64)
    state[earlier] = [_CODES.get(state_of(round), _NONE) for round in rounds[earlier].tolist()]
    for step in range(min(LONGEST_LIFE + 1, int(count.max(initial=0)))):
        going = count > step
        event = order[place[going] + step]
        state[going] = life[state[going], kind[event]]
        odd[event] |= state[going] == _NONE
    if odd.any():
        return _steps(events.part(0, int(odd.argmax())), first, state_of, life)
    return len(events), dict(zip(rounds.tolist(), map(STATES.__getitem__, state.tolist()), strict=True))
