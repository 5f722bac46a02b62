"""The life of a ticket is one table, and everybody who uses it agrees."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from duelwise.errors import InvalidInput
from duelwise.storage import OPEN_STATES
from duelwise.stream import tickets
from duelwise.stream.events import (
    Asked,
    Event,
    Expired,
    Observed,
    Recorded,
    Retracted,
    Skipped,
    Told,
    kind_of,
)
from duelwise.stream.ledger import Ledger
from duelwise.stream.lifecycle import STATES, WINNERS, outcome_of, transition, winner_of
from duelwise.types import Array
from known import known

Y = np.zeros((2, 1))
STEPS = [Observed(0, Y), Told(0, 1.0), Skipped(0), Expired(0), Retracted(0)]


def _asked(y: Array | None = None) -> Asked:
    return Asked(0, "tag", np.array([0, 1]), np.zeros((2, 1)), Y, True, 0, y)


def _lives(length: int) -> Iterator[list[Event]]:
    """Every sequence of events that a ticket may live through."""
    for first in (_asked(), _asked(Y)):
        for steps in itertools.product(STEPS, repeat=length):
            yield [first, *steps]


@pytest.mark.parametrize("length", [1, 2, 3])
def test_rows_and_counts_agree_on_every_life(length: int) -> None:
    for life in _lives(length):
        row, ledger = None, Ledger()
        for seq, event in enumerate(life, start=1):
            recorded = Recorded(seq, float(seq), event)
            state = transition(row, event)
            after = tickets.after(row, recorded)
            if after is None or state is None:
                assert after is state
                break
            assert after.state == state
            before = ledger.take(recorded)
            assert before == (None if row is None else row.state)
            row = after
            assert ledger.counts == ledger.counts | {state: 1}
            assert sum(ledger.counts.values()) == 1
            assert ledger.agrees_with(0, state)
            assert not any(ledger.agrees_with(0, other) for other in OPEN_STATES if other != state)


def test_every_state_is_reached_and_closed_ones_stay() -> None:
    reached = set()
    for life in _lives(2):
        row = None
        for seq, event in enumerate(life, start=1):
            row = tickets.after(row, Recorded(seq, 0.0, event)) or row
            reached.add(known(row).state)
        if known(row).state in ("skipped", "expired", "retracted"):
            assert all(transition(row, event) is None for event in STEPS)
    assert reached == set(STATES)


def test_a_ticket_is_given_out_once() -> None:
    row = tickets.after(None, Recorded(1, 0.0, _asked()))
    assert transition(row, _asked()) is None
    assert [kind_of(event) for event in STEPS if transition(None, event) is not None] == []


@pytest.mark.parametrize("swapped", [False, True])
def test_winner_and_outcome_are_two_words_for_one_thing(swapped: bool) -> None:
    outcomes = [outcome_of(winner, swapped=swapped) for winner in WINNERS]
    assert sorted(str(outcome) for outcome in outcomes) == ["0.0", "0.5", "1.0", "None"]
    assert [winner_of(outcome, swapped=swapped) for outcome in outcomes] == list(WINNERS)
    assert outcome_of("left", swapped=swapped) == (0.0 if swapped else 1.0)
    with pytest.raises(InvalidInput, match="expected one of left, right, tie, skip"):
        outcome_of("both", swapped=swapped)
