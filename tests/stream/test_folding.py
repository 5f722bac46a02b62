"""Restart, replica, replay and rebuild are one fold: the same floats."""

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from living import SETTINGS, Clock, candidates, live, vote
from numpy.random import Generator

from duelwise.storage import Store, open_store
from duelwise.storage.schema import COMMON_KINDS
from duelwise.stream import DecisionStream, Retract, StreamSettings, decision_stream, ledger, replica
from duelwise.stream.events import (
    KINDS,
    OF_ITEMS,
    REWRITING,
    Asked,
    Cut,
    Observed,
    Recorded,
    decode,
    encode,
    from_json,
    kind_of,
    to_json,
)
from duelwise.stream.folding import fold, load, rebuild
from duelwise.stream.logs import RecordedLog, StoredLog
from duelwise.stream.stream_state import StreamState
from duelwise.stream.transfer import export_lines, read_lines


def _fold(stream: DecisionStream, store: Store) -> bytes:
    row = store.stream(stream.name)
    return fold(stream.settings, StoredLog(store, row.id), upto=row.head).snapshot().payload


@pytest.mark.parametrize(
    "made",
    [
        SETTINGS,
        StreamSettings(context_dim=3, post_dim=2),  # the spline
        StreamSettings(context_dim=3),
        StreamSettings(context_dim=3, post_dim=1, recipe="rcdb", random_share=0.3),
        StreamSettings(
            context_dim=3, recipe="rcdp-ucb", options={"estimate": "full-mle", "exploration_width": "data"}
        ),
    ],
)
def test_restart_and_fresh_fold_reach_the_same_floats(
    store: Store, clock: Clock, rng: Generator, made: StreamSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replica, "SNAPSHOT_EVERY", 40)
    stream = DecisionStream.create(store, "meals", made, clock=clock)
    live(stream, rng, 130)
    stream.wait_for_background()
    state = stream.snapshot_state()
    again = DecisionStream.open(store, "meals", clock=clock)  # as after a crash: the first was not closed
    assert again._replica.folded.restored_from > 0
    assert again.snapshot_state() == state == _fold(stream, store)
    live(again, rng, 20)
    stream.close()
    again.close()
    with DecisionStream.open(store, "meals", clock=clock) as third:
        assert third._replica.folded.restored_from == third.model_version
        assert third.snapshot_state() == _fold(third, store)


def test_two_replicas_serve_one_stream(tmp_path: Path, rng: Generator) -> None:
    url = f"sqlite:///{tmp_path}/duels.db"
    one = DecisionStream.create(url, "meals", SETTINGS)
    two = DecisionStream.open(url, "meals")
    for _ in range(25):
        a, b = (one, two) if rng.random() < 0.5 else (two, one)
        duel = a.ask(candidates(rng))
        b.observe(duel.ticket, *rng.normal(size=(2, 2)).tolist())
        (a if rng.random() < 0.5 else b).tell(duel.ticket, "left")
    assert one.snapshot_state() == two.snapshot_state()
    assert one.counts() == two.counts()
    assert one.counts()["told"] == 25
    one.close()
    two.close()


@pytest.mark.parametrize("edition", [1, 2])
def test_a_retracted_vote_is_unlearned(store: Store, clock: Clock, rng: Generator, edition: int) -> None:
    """After the rebuild the state is that of a stream which never heard the vote.

    A stream that 0.2 made has never heard of the duel's context either.
    """
    made = replace(SETTINGS, edition=edition, ranges={} if edition == 1 else SETTINGS.ranges)
    stream = DecisionStream.create(store, "meals", made, clock=clock)
    for _ in range(10):
        vote(stream, rng, "left")
    lie = vote(stream, rng, "right")
    for _ in range(5):
        vote(stream, rng, "left")
    before = stream._replica.folded.learner.theta.copy()
    stream.retract(lie)
    assert stream.counts() == stream.counts() | {"told": 15, "retracted": 1}
    stream.wait_for_background()
    folded = stream._replica.folded
    assert folded.ledger.rebuilt_upto == 49
    assert not folded.ledger.rebuild_is_due
    assert folded.learner.votes.tolist() == [15]
    assert not np.array_equal(folded.learner.theta, before)
    events = [r._replace(event=r.event) for r in StoredLog(store, 1).events(after=0, upto=48)]
    asked, observed, told = (line.seq for line in stream.ticket(lie).history[:3])
    if edition == 1:
        left = [one for one in events if one.seq != told]
    else:
        nothing = events[asked - 1]._replace(event=Cut(10))
        left = [nothing if one.seq == asked else one for one in events if one.seq not in (observed, told)]
    unheard = RecordedLog(one._replace(seq=seq) for seq, one in enumerate(left, start=1))
    never = fold(made, unheard, upto=unheard.head).learner
    assert np.array_equal(never.theta, folded.learner.theta)
    assert np.array_equal(never.served_geometry.matrix, folded.learner.served_geometry.matrix)
    stream.close()


@pytest.mark.parametrize("crash", [False, True])
def test_rebuilds_survive_restarts_and_reach_replicas(
    store: Store, clock: Clock, rng: Generator, crash: bool
) -> None:
    stream = DecisionStream.create(store, "meals", SETTINGS, clock=clock)
    other = DecisionStream.open(store, "meals", clock=clock)
    for round in range(3):
        tickets = [vote(stream, rng, source=f"user {i % 3}") for i in range(9)]
        live(stream, rng, 20)
        stream.run([Retract(tickets[0]), Retract(tickets[4])])
        live(other, rng, 10)
        if round == 1:
            stream.wait_for_background()
    stream.wait_for_background()
    stream.wait_for_background()
    state = stream.snapshot_state()
    assert not stream.report().rebuild_is_due
    assert other.snapshot_state() == state == _fold(stream, store)
    exported = read_lines(export_lines(store, "meals"))
    assert exported.fold().snapshot().payload == state
    if not crash:
        stream.close()
        other.close()
    with DecisionStream.open(store, "meals", clock=clock) as third:
        assert third.snapshot_state() == state


def test_a_rebuild_that_a_crash_prevented_is_made_on_opening(
    store: Store, clock: Clock, rng: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = DecisionStream.create(store, "meals", SETTINGS, clock=clock)
    tickets = [vote(stream, rng) for _ in range(5)]
    monkeypatch.setattr(stream._replica.background, "do", lambda task: None)
    stream.retract(tickets[2])
    assert stream.report().rebuild_is_due
    with DecisionStream.open(store, "meals", clock=clock) as again:
        again.wait_for_background()
        assert not again.report().rebuild_is_due
        assert again.snapshot_state() == stream.snapshot_state() == _fold(again, store)


def test_all_votes_of_a_source_are_retracted(stream: DecisionStream, store: Store, rng: Generator) -> None:
    for i in range(12):
        vote(stream, rng, source="liar" if i % 3 == 0 else "honest")
    waiting = stream.ask(candidates(rng)).ticket
    stream.tell(waiting, "left", source="liar")
    assert stream.retract_source("liar") == 5
    assert stream.retract_source("liar") == 0
    stream.wait_for_background()
    report = stream.report()
    assert report.counts["retracted"] == 5
    assert [one.source for one in report.down_weighted_sources] == ["honest"]
    assert stream.snapshot_state() == _fold(stream, store)


def test_a_source_is_taken_out_by_one_rebuild(
    store: Store, clock: Clock, rng: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when it has many votes, and another process serves the stream meanwhile."""
    monkeypatch.setattr(decision_stream, "CLOSED_AT_ONCE", 4)
    stream = DecisionStream.create(store, "meals", SETTINGS, clock=clock)
    other = DecisionStream.open(store, "meals", clock=clock)
    for i in range(20):
        vote(stream, rng, source="liar" if i % 2 else "honest")
    batch = stream._replica.batch

    @contextmanager
    def busy():
        with batch() as one:
            yield one
        vote(other, rng)
        other.wait_for_background()

    monkeypatch.setattr(stream._replica, "batch", busy)
    assert stream.retract_source("liar") == 10
    monkeypatch.undo()
    stream.wait_for_background()
    other.wait_for_background()
    kinds = [row.kind for row in store.events(1, after=0, upto=store.stream("meals").head)]
    assert kinds.count("rebuilt") == 1
    assert other.snapshot_state() == stream.snapshot_state() == _fold(stream, store)
    stream.close()
    other.close()


def test_votes_of_a_source_are_counted_and_names_are_told_apart_by_case(
    store: Store, clock: Clock, rng: Generator
) -> None:
    with DecisionStream.create(store, "meals", SETTINGS, clock=clock) as stream:
        many = stream.ask(candidates(rng), votes_wanted=3).ticket
        for source in ("Ann", "bob"):
            stream.tell(many, "left", source=source)
        assert stream.retract_source("ann") == 0
        assert stream.retract_source("Ann") == 1


def test_a_retraction_that_died_half_way_is_rebuilt_all_the_same(
    store: Store, clock: Clock, rng: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decision_stream, "CLOSED_AT_ONCE", 2)
    stream = DecisionStream.create(store, "meals", SETTINGS, clock=clock)
    for _ in range(5):
        vote(stream, rng, source="liar")
    with stream._replica.lock, stream._replica.batch() as batch:
        batch.retract_source("liar", after=-1, limit=2)
    vote(stream, rng)
    stream.wait_for_background()
    assert stream.report().rebuild_is_due
    clock.now += 100
    vote(stream, rng)
    stream.wait_for_background()
    assert not stream.report().rebuild_is_due
    stream.close()


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 10**6), steps=st.integers(0, 40), retracted=st.lists(st.integers(0, 40), max_size=4)
)
def test_any_history_folds_to_the_live_state(
    tmp_path_factory: pytest.TempPathFactory, seed: int, steps: int, retracted: list[int]
) -> None:
    store = open_store(f"sqlite:///{tmp_path_factory.mktemp('any')}/duels.db")
    with DecisionStream.create(store, "meals", SETTINGS) as stream:
        tickets = live(stream, np.random.Generator(np.random.PCG64(seed)), steps)
        stream.run([Retract(tickets[i]) for i in retracted if i < len(tickets)])
        stream.wait_for_background()
        stream.wait_for_background()
        state = stream.snapshot_state()
        assert _fold(stream, store) == state
        assert load(SETTINGS, StoredLog(store, 1), upto=stream.model_version).snapshot().payload == state
        assert read_lines(export_lines(store, "meals")).fold().snapshot().payload == state
        counts = stream.counts()
        rows = store.tickets(1, range(len(tickets))).values()
        assert counts == {state: sum(row.state == state for row in rows) for state in counts}
    store.close()


def test_rebuild_without_retractions_is_a_plain_fold(
    stream: DecisionStream, store: Store, rng: Generator
) -> None:
    live(stream, rng, 40)
    upto = stream.model_version
    assert rebuild(SETTINGS, StoredLog(store, 1), upto=upto).snapshot().payload == _fold(stream, store)


def test_events_come_back_from_bytes_and_from_json(
    stream: DecisionStream, store: Store, rng: Generator
) -> None:
    live(stream, rng, 60)
    for recorded in StoredLog(store, 1).events(after=0, upto=stream.model_version):
        for back in (_through_bytes(recorded), from_json(to_json(recorded))):
            assert (back.seq, back.at, kind_of(back.event)) == (
                recorded.seq,
                recorded.at,
                kind_of(recorded.event),
            )
            for name in recorded.event._fields:
                value = getattr(recorded.event, name)
                assert np.array_equal(getattr(back.event, name), value) or value is None


def _through_bytes(recorded: Recorded) -> Recorded:
    from duelwise.storage import EventRow

    row = EventRow(recorded.seq, kind_of(recorded.event), 0, None, recorded.at, encode(recorded.event))
    return decode(row)


def test_memory_follows_what_is_pending(
    stream: DecisionStream, rng: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def held() -> int:
        return len(stream._replica.folded.snapshot().payload)

    monkeypatch.setattr(ledger, "WEIGHTS_KEPT", 20)
    for _ in range(30):
        vote(stream, rng)
    first = held()
    for _ in range(60):
        vote(stream, rng)
    assert held() < first + 300  # counts grow by digits, the state does not grow with the votes


def test_a_fold_takes_events_in_order() -> None:
    folded = StreamState(SETTINGS)
    asked = Asked(0, "t", np.array([0, 1]), np.zeros((2, 3)), np.zeros((2, 2)), False, 0)
    folded.apply(Recorded(1, 0.0, asked))
    with pytest.raises(OSError, match="Event 3 follows event 1"):
        folded.apply(Recorded(3, 0.0, Observed(0, np.zeros((2, 2)))))


def test_a_duel_without_one_of_its_votes_is_over_in_every_process(
    store: Store, clock: Clock, rng: Generator
) -> None:
    """Also in those that have the rebuild from its snapshot, and are told of the context after it."""
    made = replace(SETTINGS, votes_wanted=2)
    stream = DecisionStream.create(store, "meals", made, clock=clock)
    other = DecisionStream.open(store, "meals", clock=clock)
    ticket = stream.ask(candidates(rng)).ticket
    for source in ("ann", "bob"):
        stream.tell(ticket, "left", source=source)
    stream.retract(ticket, source="ann")
    stream.wait_for_background()
    assert other.snapshot_state() == stream.snapshot_state()
    assert other.observe(ticket, [0.1, 0.2], [0.3, 0.4]).state == "told"
    assert not other.replica.folded.learner.waits(0, 0)
    assert other.snapshot_state() == stream.snapshot_state() == _fold(stream, store)
    other.close()
    with DecisionStream.open(store, "meals", clock=clock) as again:
        assert again.snapshot_state() == stream.snapshot_state()
    stream.close()


def test_what_a_fold_looks_up_has_an_index() -> None:
    """The storage names the kinds that have none; they are kinds of events, and none is looked up."""
    assert set(COMMON_KINDS) < set(KINDS)
    assert not set(COMMON_KINDS) & {*REWRITING, *OF_ITEMS}
