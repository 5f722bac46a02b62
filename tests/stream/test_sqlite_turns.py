"""Several streams in one transaction, without waiting; and the same by a thread that waits."""

from collections.abc import Iterator

import pytest
from living import SETTINGS, Clock, candidates
from numpy.random import Generator
from sqlalchemy.exc import IntegrityError

from duelwise.errors import Conflict
from duelwise.storage import Store, Writer
from duelwise.stream import Ask, Decision, DecisionStream, Receipt, Tell, replica
from duelwise.stream.sqlite_turns import Busy, begin_sqlite_turn


@pytest.fixture
def streams(store: Store) -> Iterator[list[DecisionStream]]:
    opened = [DecisionStream.create(store, name, SETTINGS) for name in ("meals one", "meals two")]
    yield opened
    for stream in opened:
        stream.close()


def test_a_turn_is_one_commit_for_all(store: Store, streams: list[DecisionStream], rng: Generator) -> None:
    turn = begin_sqlite_turn(store, [(stream, [Ask(candidates(rng))] * 2) for stream in streams])
    assert turn.lock()
    assert [store.stream(stream.name).head for stream in streams] == [0, 0]
    turn.commit()
    answers = turn.finish()
    assert all(isinstance(answer, Decision) for each in answers for answer in each)
    assert [stream.model_version for stream in streams] == [2, 2]
    duel = answers[0][0]
    assert isinstance(duel, Decision)
    told = streams[0].commit([Tell(duel.ticket, "left")])
    assert isinstance(told[0], Receipt)
    assert told[0].state == "voted"
    assert streams[0].snapshot_state() != streams[1].snapshot_state()


def test_who_would_have_to_wait_is_told_so_and_leaves_no_trace(
    store: Store, streams: list[DecisionStream], rng: Generator
) -> None:
    one, two = streams
    turn = begin_sqlite_turn(store, [(one, [Ask(candidates(rng))])])
    with pytest.raises(Busy):  # the file has one writer
        begin_sqlite_turn(store, [(two, [Ask(candidates(rng))])])
    assert turn.lock()
    turn.commit()
    turn.finish()
    with two.replica.lock, pytest.raises(Busy):
        begin_sqlite_turn(store, [(two, [Ask(candidates(rng))])])
    assert isinstance(two.commit([Ask(candidates(rng))])[0], Decision)
    assert (one.model_version, two.model_version) == (1, 1)


def test_a_turn_that_cannot_be_committed_records_nothing(
    store: Store, streams: list[DecisionStream], rng: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = streams
    turn = begin_sqlite_turn(store, [(one, [Ask(candidates(rng))])])
    monkeypatch.setattr(turn._connection, "commit", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        turn.commit()
    assert store.stream(one.name).head == 0
    assert isinstance(one.ask(candidates(rng)), Decision)
    assert (one.model_version, one.counts()["asked"]) == (1, 1)


def test_ahead_of_the_lock_others_may_write_to_the_file(
    store: Store, streams: list[DecisionStream], rng: Generator
) -> None:
    one, two = streams
    turn = begin_sqlite_turn(store, [(one, [Ask(candidates(rng))] * 3)], ahead=True)
    assert isinstance(two.ask(candidates(rng)), Decision)
    with store.writing(two.replica.row.id):
        assert not turn.lock()
    assert turn.lock()
    turn.commit()
    turn.finish()
    assert (one.model_version, two.model_version) == (3, 1)


def test_what_was_decided_ahead_is_nothing_when_the_stream_has_moved_on(
    store: Store, streams: list[DecisionStream], clock: Clock, rng: Generator
) -> None:
    one, _ = streams
    turn = begin_sqlite_turn(store, [(one, [Ask(candidates(rng))] * 3)], ahead=True)
    with DecisionStream.open(store, one.name, clock=clock) as other:
        other.ask(candidates(rng))
        with pytest.raises(IntegrityError):
            turn.lock()
        assert store.stream(one.name).head == 1
        one.ask(candidates(rng))
        with other.replica.lock:
            other.replica.refresh()
        assert other.snapshot_state() == one.snapshot_state()


@pytest.mark.parametrize("ahead", [False, True])
def test_a_turn_can_be_given_up(
    store: Store, streams: list[DecisionStream], rng: Generator, ahead: bool
) -> None:
    one, _ = streams
    begin_sqlite_turn(store, [(one, [Ask(candidates(rng))] * 2)], ahead=ahead).give_up()
    assert isinstance(one.ask(candidates(rng)), Decision)
    assert store.stream(one.name).head == one.model_version == 1


def test_votes_that_come_at_once_need_no_look_at_their_tickets(
    store: Store, streams: list[DecisionStream], rng: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = streams
    duel = one.ask(candidates(rng))
    looked: list[object] = []
    plain = Writer.tickets
    monkeypatch.setattr(Writer, "tickets", lambda self, rounds: looked.append(rounds) or plain(self, rounds))
    assert one.tell(duel.ticket, "left").changed
    assert not one.tell(duel.ticket, "left").changed
    assert looked == []


def test_a_ticket_that_another_process_has_moved_on_is_looked_at(
    store: Store, streams: list[DecisionStream], clock: Clock, rng: Generator
) -> None:
    one, _ = streams
    duel = one.ask(candidates(rng))
    with DecisionStream.open(store, one.name, clock=clock) as other:
        other.tell(duel.ticket, "left", source="ann")
    assert not one.tell(duel.ticket, "left", source="ann").changed
    with pytest.raises(Conflict):
        one.tell(duel.ticket, "right", source="ann")


def test_only_the_latest_tickets_are_remembered(
    store: Store, streams: list[DecisionStream], rng: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replica, "RECENT_TICKETS", 4)
    one, _ = streams
    duels = [one.ask(candidates(rng)) for _ in range(12)]
    assert 0 < len(one.replica._recent) <= 4
    assert all(one.tell(duel.ticket, "left").changed for duel in duels)
