"""What a stream counts beside its learner, event by event."""

from __future__ import annotations

import numpy as np
import pytest

from duelwise.errors import Damaged
from duelwise.stream import ledger as module
from duelwise.stream.events import (
    Asked,
    ClockConfirmed,
    Cut,
    Event,
    Observed,
    Rebuilt,
    Recorded,
    Retracted,
    Told,
)
from duelwise.stream.ledger import Ledger, LowVote
from duelwise.stream.vote_delays import (
    DELAY_BINS,
    DELAY_BINS_PER_DOUBLING,
    DELAY_FLOOR,
    delay_bin,
    delay_bins,
    delay_quantile,
)

NOTHING = np.empty((2, 0))


def asked(round: int, *, swapped: bool = False, wanted: int | None = None, fallback: bool = False) -> Asked:
    return Asked(
        round, "tag", np.array([0, 1]), np.zeros((2, 1)), NOTHING, swapped, 0, wanted=wanted,
        fallback=fallback,
    )  # fmt: skip


def taken(*events: Event, seconds: float = 1.0) -> Ledger:
    """A ledger after these events, so many seconds apart."""
    ledger = Ledger()
    for seq, event in enumerate(events, start=1):
        ledger.take(Recorded(seq, 1000.0 + seconds * seq, event))
    return ledger


def test_states_sides_and_wins_are_counted() -> None:
    ledger = taken(
        asked(0), asked(1, swapped=True), asked(2, fallback=True), asked(3),
        Observed(0, NOTHING), Told(0, 1.0), Observed(1, NOTHING), Told(1, 1.0), Told(2, 0.5),
    )  # fmt: skip
    assert {state: count for state, count in ledger.counts.items() if count} == {
        "asked": 1,
        "voted": 1,
        "told": 2,
    }
    assert ledger.wins == {"left": 1, "right": 1, "tie": 1}
    assert (ledger.rounds, ledger.first_on_left, ledger.fallbacks) == (4, 3, 1)
    assert list(ledger.waiting) == [2, 3]


def test_a_duel_of_several_votes_is_told_with_the_last_and_counts_what_is_taken_back() -> None:
    events: list[Event] = [asked(0, wanted=3), Observed(0, NOTHING), Told(0, 1.0), Told(0, 0.0)]
    assert taken(*events).waiting[0].heard == 2
    assert taken(*events, Retracted(0, vote=3)).waiting[0].heard == 1
    assert taken(*events, Told(0, 1.0)).counts["told"] == 1


def test_whether_a_row_agrees_with_the_log() -> None:
    ledger = taken(asked(0), asked(1), Observed(1, NOTHING), Told(1, 1.0))
    assert ledger.agrees_with(0, "asked")
    assert not ledger.agrees_with(0, "observed")
    assert ledger.agrees_with(1, "told")
    assert not ledger.agrees_with(1, "voted")


@pytest.mark.parametrize(
    "events",
    [
        (asked(1),),
        (asked(0), asked(0)),
        (asked(0), Told(1, 1.0)),
        (asked(0), Told(-1, 1.0)),
        (asked(0), Observed(0, NOTHING), Told(0, 1.0), Told(0, 1.0)),
    ],
    ids=["a round ahead", "a round again", "not asked yet", "no round", "told again"],
)
def test_what_cannot_follow_is_damage_and_named(events: tuple[Event, ...]) -> None:
    with pytest.raises(Damaged, match=f"Event {len(events)} says that duel") as damage:
        taken(*events)
    assert damage.value.seq == len(events)


def test_a_duel_that_was_cut_keeps_its_round() -> None:
    ledger = taken(Cut(0), asked(1), Cut())
    assert (ledger.rounds, ledger.first_on_left, ledger.counts["retracted"]) == (2, 2, 1)


def test_a_rebuild_waits_for_the_last_of_a_retraction_or_for_a_minute() -> None:
    ledger = taken(asked(0), asked(1), Retracted(0, more=True))
    assert not ledger.rebuild_may_start(2000.0)  # nothing was learned that has to be taken out
    ledger.unlearning_since = 3
    assert ledger.rebuild_is_due
    assert not ledger.rebuild_may_start(1003.0 + 60.0)
    assert ledger.rebuild_may_start(1003.0 + 60.1)
    ledger.take(Recorded(4, 1004.0, Retracted(1)))
    assert ledger.rebuild_may_start(1004.0)
    ledger.take(Recorded(5, 1005.0, Rebuilt(3)))
    assert not ledger.rebuild_is_due


def test_the_time_of_the_log_is_the_last_events_or_what_was_confirmed() -> None:
    ledger = taken(asked(0), asked(1))
    assert ledger.time.believed == 1002.0
    ledger.take(Recorded(3, 1e9, ClockConfirmed()))
    assert ledger.time.believed == 1e9


@pytest.mark.parametrize(("weight", "bin"), [(0.0, 0), (0.049, 0), (0.05, 1), (0.951, 19), (1.0, 19)])
def test_weights_fall_into_twenty_bins(weight: float, bin: int) -> None:
    ledger = Ledger()
    ledger.learned(0, weight, None)
    assert np.flatnonzero(ledger.weights).tolist() == [bin]
    assert ledger.weights_of == {0: weight}


def test_the_lowest_votes_and_the_newest_weights_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOWEST_KEPT", 3)
    monkeypatch.setattr(module, "WEIGHTS_KEPT", 2)
    ledger = Ledger()
    for round, weight in enumerate((0.5, 0.9, 0.2, 0.5, 0.5, 0.9)):
        ledger.learned(round, weight, None)
    assert ledger.lowest == [LowVote(0.2, 2, None), LowVote(0.5, 0, None), LowVote(0.5, 3, None)]
    assert ledger.weights_of == {4: 0.5, 5: 0.9}


def test_sources_are_credited_and_one_whose_votes_count_most_makes_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "SOURCES_KEPT", 2)
    ledger = Ledger()
    ledger.learned_all((0, 0, 1), (0.25, 1.0, 0.5), ("ann", "bob", "ann"))
    assert ledger.sources == {"ann": (2, 0.75), "bob": (1, 1.0)}
    ledger.learned(2, 0.5, "eve")
    assert ledger.sources == {"ann": (2, 0.75), "eve": (1, 0.5)}  # bob's votes counted most
    assert ledger.sources_dropped == 1


@pytest.mark.parametrize("seconds", [0.0, 0.0005, 0.001, 0.5, 1.0, 60.0, 86400.0, 1e12])
def test_a_delay_is_known_to_within_a_fifth(seconds: float) -> None:
    ledger = taken(asked(0), Told(0, 1.0), seconds=seconds)
    found = delay_quantile(ledger.delays, 0.5)
    assert found is not None
    if seconds == 1e12:
        assert np.flatnonzero(ledger.delays).tolist() == [DELAY_BINS - 1]
    else:
        assert max(seconds, 0.001) * (1 - 1e-6) <= found <= max(seconds, 0.001) * 1.2


def test_quantiles_of_delays() -> None:
    assert delay_quantile(np.zeros(DELAY_BINS, dtype=np.int64), 0.5) is None
    delays = np.zeros(DELAY_BINS, dtype=np.int64)
    delays[[4, 8]] = 1, 3  # from 2 and from 4 milliseconds on, a quarter of a doubling wide
    for share, seconds in ((0.1, 0.002), (0.25, 0.002), (0.26, 0.004), (1.0, 0.004)):
        assert delay_quantile(delays, share) == pytest.approx(seconds * 2**0.25)


def test_delays_have_the_same_bins_together_and_one_by_one() -> None:
    edges = DELAY_FLOOR * 2.0 ** (np.arange(DELAY_BINS + 5) / DELAY_BINS_PER_DOUBLING)
    near = [edges, np.nextafter(edges, 0.0), np.nextafter(edges, np.inf), [-1.0, 0.0, 1e300]]
    seconds = np.concatenate([*near, np.random.default_rng(0).exponential(5.0, 1000)])
    assert delay_bins(seconds).tolist() == [delay_bin(one) for one in seconds.tolist()]
