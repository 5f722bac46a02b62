"""What cannot have happened is told from a log's events alone, and what can is taken."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import pytest

from duelwise.stream import StreamSettings, tickets
from duelwise.stream.events import (
    Asked,
    Cut,
    Event,
    ItemsPut,
    ItemsWithdrawn,
    Observed,
    Ranged,
    Rebuilt,
    Recorded,
    Retracted,
    Skipped,
    SourceHeld,
    SourcesWeighed,
    Told,
)
from duelwise.stream.history import TicketHistory
from known import known

SETTINGS = StreamSettings(context_dim=2, post_dim=1)
PAIR, AFTER = np.ones((2, 2)), np.ones((2, 1))
ASKED = Asked(0, "tag", np.array([0, 1]), PAIR, AFTER, False, 0)
UNITS = Ranged(np.zeros(3), np.ones(3), np.ones(3), False)
PUT = ItemsPut(["a", "b"], PAIR)


def asked(**fields: Any) -> Asked:
    return ASKED._replace(**fields)


def ranged(**fields: Any) -> Ranged:
    return UNITS._replace(**fields)


def put(**fields: Any) -> ItemsPut:
    return PUT._replace(**fields)


def after(*events: Event) -> TicketHistory:
    history = TicketHistory(SETTINGS)
    for seq, event in enumerate(events, start=1):
        assert history.take(Recorded(seq, 1000.0, event)) is None
    return history


def said(event: Event, *before: Event, at: object = 1000.0, event_id: str | None = None) -> str | None:
    """Why an event cannot follow these."""
    return after(*before).take(Recorded(len(before) + 1, cast("float", at), event, event_id))


POSSIBLE: list[tuple[Event, ...]] = [
    (ASKED,),
    (asked(x=np.full((2, 2), 1e6)),),
    (asked(predicted=np.full((2, 1), 1e9)),),
    (asked(probability=1.0, ids=["a", "b"], candidate_ids=["a", "b", "c"], candidates=np.ones((3, 2))),),
    (asked(bounds=PAIR, y=AFTER),),
    (ASKED, asked(round=1, model_version=1)),
    (ASKED, Observed(0, np.array([[1.0], [np.nan]]))),
    (ASKED, Told(0, 0.5, "ann")),
    (SourcesWeighed([], 0, False),),
    (ASKED, Rebuilt(1)),
    (ASKED, Rebuilt(0)),
    (Cut(), Cut(0), asked(round=1)),
    (PUT, ItemsWithdrawn(["a"]), ItemsWithdrawn(["b"])),
    (put(y=AFTER, known=[True, False], groups=["g", None], contents=[None, "text"]),),
    (UNITS,),
]
IMPOSSIBLE: list[tuple[str, tuple[Event, ...], Event]] = [
    ("serves duel 1 where duel 0 is the next", (), asked(round=1)),
    ("serves duel 0 where duel 1 is the next", (ASKED,), ASKED),
    ("duel 0 was told, which was never asked", (), Told(0, 1.0)),
    ("duel 0 was told, which was skipped", (ASKED, Skipped(0)), Told(0, 1.0)),
    ("has the round -2", (), Rebuilt(0, -2)),
    ("has the outcome 0.25", (ASKED,), Told(0, 0.25)),
    ("has the source ''", (ASKED,), Told(0, 1.0, "")),
    ("has the source 'é'", (), SourceHeld("é")),
    ("of -1 votes", (), SourcesWeighed([], -1, False)),
    ("rebuilds up to event 2", (ASKED,), Rebuilt(2)),
    ("cuts duel 1 where duel 0 is the next", (), Cut(1)),
    (r"has x of shape \(2, 3\) in a stream of \(2, 2\)", (), asked(x=np.ones((2, 3)))),
    ("has x that is not finite, or beyond ±1e", (), asked(x=np.full((2, 2), 1e6 + 1))),
    ("has predicted that is not finite", (), asked(predicted=np.full((2, 1), np.inf))),
    (r"has y of shape \(2, 2\)", (), asked(y=PAIR)),
    (r"has candidates of shape \(3, 1\)", (), asked(candidates=np.ones((3, 1)))),
    (r"has bounds of shape \(1, 2\)", (), asked(bounds=np.ones((1, 2)))),
    ("has the arms", (), asked(arms=np.array([1, 1]))),
    ("has the arms", (), asked(arms=np.array([-1, 0]))),
    ("has the arms", (), asked(arms=np.array([0, 1, 2]))),
    ("has the tag ''", (), asked(tag="")),
    ("was chosen after event 1", (), asked(model_version=1)),
    ("was chosen after event -1", (), asked(model_version=-1)),
    ("has the probability 0.0", (), asked(probability=0.0)),
    ("has the probability 1.5", (), asked(probability=1.5)),
    (r"has the ids \['a'\]", (), asked(ids=["a"])),
    (r"has y of shape \(2, 2\)", (ASKED,), Observed(0, PAIR)),
    (r"has x of shape \(2, 1\)", (ASKED,), Observed(0, AFTER, AFTER)),
    ("does not say what is new", (ASKED,), Observed(0, AFTER, PAIR)),
    (r"has the ids \['a', 'a'\]", (), put(ids=["a", "a"])),
    (r"has x of shape \(1, 2\)", (), put(x=np.ones((1, 2)))),
    ("has 1 groups of 2 items", (), put(groups=["g"])),
    ("withdraws the item 'b'", (PUT, ItemsWithdrawn(["b"])), ItemsWithdrawn(["a", "b"])),
    ("has half .* in a stream of 3 features", (), ranged(half=np.ones(2))),
    ("has centre that is not finite", (), ranged(centre=np.full(3, np.nan))),
    ("a range without width", (), ranged(half=np.array([1.0, 0.0, 1.0]))),
    ("a range without width", (), ranged(reach=np.array([1.0, 0.0, 1.0]))),
]  # fmt: skip


@pytest.mark.parametrize("events", POSSIBLE, ids=range(len(POSSIBLE)))
def test_what_can_follow_is_taken(events: tuple[Event, ...]) -> None:
    after(*events)


@pytest.mark.parametrize(("why", "before", "event"), IMPOSSIBLE, ids=[why for why, _, _ in IMPOSSIBLE])
def test_what_cannot_follow_says_why_and_is_passed_over(
    why: str, before: tuple[Event, ...], event: Event
) -> None:
    history = after(*before)
    rounds = history.rounds
    found = known(history.take(Recorded(len(before) + 1, 1000.0, event)))
    with pytest.raises(ValueError, match=why):
        raise ValueError(found)
    assert history.rounds == rounds


@pytest.mark.parametrize("at", [math.nan, math.inf, "noon", True])
def test_a_time_is_a_number(at: object) -> None:
    assert said(ASKED, at=at) == f"has the time {at!r}"


def test_a_request_has_a_name_of_its_own() -> None:
    history = TicketHistory(SETTINGS)
    assert history.take(Recorded(1, 0.0, ASKED, "mine")) is None
    assert "used before" in known(history.take(Recorded(2, 0.0, asked(round=1), "mine")))
    assert "no name" in known(said(ASKED, event_id="a" * 201))
    assert said(ASKED, event_id="a" * 200) is None


def test_ranges_are_for_streams_that_scale() -> None:
    old = StreamSettings.from_dict(SETTINGS.to_dict() | {"edition": 1})
    assert TicketHistory(old).take(Recorded(1, 0.0, UNITS)) == "sets ranges in a stream of edition 1"


def test_the_rows_of_tickets_follow_their_events() -> None:
    history = after(
        asked(wanted=2), Told(0, 1.0, "ann"), Observed(0, AFTER), Told(0, 0.0, "bob"), Retracted(0, vote=2)
    )  # fmt: skip
    row = history.tickets[0]
    assert (row.state, row.asked_seq, row.observed_seq, row.told_seq) == ("told", 1, 3, 4)
    assert tickets.votes_of(row) == [tickets.Vote(4, 0.0, "bob")]
    single = after(ASKED, Told(0, 0.5, "ann")).tickets[0]
    assert tickets.votes_of(single) == [tickets.Vote(2, 0.5, "ann")]
    assert tickets.votes_of(after(ASKED, Told(0, 0.5), Retracted(0)).tickets[0]) == []
    assert tickets.votes_of(after(ASKED).tickets[0]) == []


@pytest.mark.parametrize(
    ("ticket", "round"),
    [("7-ab", 7), ("7", None), ("-ab", None), ("x-ab", None), ("٧-ab", None), ("9" * 15 + "-a", 10**15 - 1)],
)
def test_a_ticket_begins_with_its_round(ticket: str, round: int | None) -> None:
    assert tickets.number_of(ticket) == round
    assert tickets.number_of("9" * 16 + "-a") is None
