"""Which votes do not count, by the events that say so."""

from __future__ import annotations

from duelwise.stream.events import (
    Event,
    Rebuilt,
    Recorded,
    Retracted,
    SourceHeld,
    SourceReleased,
    SourcesWeighed,
    Told,
)
from duelwise.stream.leaving_out import NOTHING_LEFT_OUT, LeftOut, left_out


def recorded(*events: Event) -> list[Recorded]:
    return [Recorded(seq, 0.0, event) for seq, event in enumerate(events, start=1)]


def test_retracted_duels_and_single_votes_and_held_sources_are_left_out() -> None:
    found = left_out(
        recorded(
            Retracted(3), Retracted(5, vote=17), SourceHeld("ann"), SourceHeld("bob"), SourceReleased("ann")
        )
    )
    assert found == LeftOut(frozenset({3}), frozenset({17}), frozenset({"bob"}), 5)
    assert found.leaves_out(Told(3, 1.0), 9)
    assert found.leaves_out(Told(5, 1.0), 17)
    assert not found.leaves_out(Told(5, 1.0, "ann"), 18)
    assert found.leaves_out(Told(6, 1.0, "bob"), 19)


def test_a_judgement_replaces_the_one_before() -> None:
    events = [SourcesWeighed(["ann", "bob"], 30, True), SourcesWeighed(["bob"], 34, True)]
    found = left_out(recorded(*events))
    assert (found.distrusted, found.weighed_at) == ({"bob"}, 34)
    assert found.leaves_out(Told(1, 1.0, "bob"), 5)
    assert LeftOut.restored(found.snapshot()) == found._replace(upto=0)
    assert "weighed_at" not in NOTHING_LEFT_OUT.snapshot()
    assert left_out(recorded(SourcesWeighed([], 1, False))).snapshot()["weighed_at"] == 1


def test_what_a_fold_knew_from_its_start_is_not_taken_again() -> None:
    """It starts with all that events up to the third have said: ann was held and released."""
    start = left_out(recorded(SourceHeld("ann"), SourceReleased("ann"), Rebuilt(0)))
    assert start.upto == 3
    for seq in (1, 3):
        assert start.after(Recorded(seq, 0.0, SourceHeld("ann"))) == start
    assert start.after(Recorded(4, 0.0, SourceHeld("ann"))).sources == {"ann"}
