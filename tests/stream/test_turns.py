"""Several streams in one transaction, without waiting; and the same by a thread that waits."""

from collections.abc import Iterator

import pytest
from living import SETTINGS, candidates
from numpy.random import Generator

from duelwise.storage import Store
from duelwise.stream import Ask, DecisionStream, Duel, Receipt, Tell
from duelwise.stream.turns import Busy, begin_turn


@pytest.fixture
def streams(store: Store) -> Iterator[list[DecisionStream]]:
    opened = [DecisionStream.create(store, name, SETTINGS) for name in ("meals one", "meals two")]
    yield opened
    for stream in opened:
        stream.close()


def test_a_turn_is_one_commit_for_all(store: Store, streams: list[DecisionStream], rng: Generator) -> None:
    turn = begin_turn(store, [(stream, [Ask(candidates(rng))] * 2) for stream in streams])
    assert [store.stream(stream.name).head for stream in streams] == [0, 0]
    turn.commit()
    answers = turn.finish()
    assert all(isinstance(answer, Duel) for each in answers for answer in each)
    assert [stream.model_version for stream in streams] == [2, 2]
    duel = answers[0][0]
    assert isinstance(duel, Duel)
    told = streams[0].commit([Tell(duel.ticket, "left")])
    assert isinstance(told[0], Receipt)
    assert told[0].state == "voted"
    assert streams[0].snapshot_state() != streams[1].snapshot_state()


def test_who_would_have_to_wait_is_told_so_and_leaves_no_trace(
    store: Store, streams: list[DecisionStream], rng: Generator
) -> None:
    one, two = streams
    turn = begin_turn(store, [(one, [Ask(candidates(rng))])])
    with pytest.raises(Busy):  # the file has one writer
        begin_turn(store, [(two, [Ask(candidates(rng))])])
    turn.commit()
    turn.finish()
    with two.replica.lock, pytest.raises(Busy):
        begin_turn(store, [(two, [Ask(candidates(rng))])])
    assert isinstance(two.commit([Ask(candidates(rng))])[0], Duel)
    assert (one.model_version, two.model_version) == (1, 1)


def test_a_turn_that_cannot_be_committed_records_nothing(
    store: Store, streams: list[DecisionStream], rng: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = streams
    turn = begin_turn(store, [(one, [Ask(candidates(rng))])])
    monkeypatch.setattr(turn._connection, "commit", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        turn.commit()
    assert store.stream(one.name).head == one.model_version == 0
    assert isinstance(one.ask(candidates(rng)), Duel)
