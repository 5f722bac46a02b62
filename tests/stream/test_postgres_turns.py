"""Several streams in one transaction of PostgreSQL, none of whose steps waits for the server."""

import select
import time
from collections.abc import Iterator

import numpy as np
import pytest
from living import SETTINGS, Clock, candidates
from sqlalchemy.exc import DBAPIError, IntegrityError

from duelwise.errors import ReadOnly
from duelwise.storage import Store, open_store
from duelwise.storage.postgres_pipeline import PostgresPipeline
from duelwise.stream import Ask, Decision, DecisionStream, Observe, Receipt, Tell, replica
from duelwise.stream.erasing import erase_source
from duelwise.stream.operations import Answer, Operation
from duelwise.stream.postgres_turns import PostgresTurn, begin_postgres_turn
from duelwise.stream.replica import SWEEP_SECONDS
from duelwise.stream.sqlite_turns import Busy

pytestmark = pytest.mark.long


@pytest.fixture
def store(postgresql_url: str) -> Iterator[Store]:
    opened = open_store(postgresql_url)
    opened.open_pipeline()
    yield opened
    opened.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def streams(store: Store, clock: Clock, rng: np.random.Generator) -> Iterator[list[DecisionStream]]:
    """Two that were in use a moment ago, so that no sweep is due."""
    opened = [DecisionStream.create(store, name, SETTINGS, clock=clock) for name in ("meals", "rides")]
    for stream in opened:
        stream.commit([Ask(candidates(rng))])
    yield opened
    for stream in opened:
        if stream.replica.lock.locked():  # a test has failed amid a turn
            stream.replica.lock.release()
        stream.close()


def _arrived(pipeline: PostgresPipeline) -> None:
    while not pipeline.receive():
        select.select([pipeline], [pipeline] if pipeline.is_unsent else [], [], 10)


def _taken(turn: PostgresTurn) -> list[list[Answer]]:
    if turn.asks:
        _arrived(turn.connection)
    turn.decide()
    _arrived(turn.connection)
    return [[_fine(one) for one in answers] for answers in turn.finish()]


def _fine(answer: object) -> Answer:
    assert isinstance(answer, Decision | Receipt), answer
    return answer


def _duel(stream: DecisionStream, rng: np.random.Generator) -> Decision:
    (duel,) = stream.commit([Ask(candidates(rng))])
    assert isinstance(duel, Decision)
    return duel


def test_a_turn_is_one_commit_for_all(
    store: Store, streams: list[DecisionStream], rng: np.random.Generator
) -> None:
    turn = begin_postgres_turn(store, [(stream, [Ask(candidates(rng))] * 2) for stream in streams])
    _arrived(turn.connection)
    assert [store.stream(stream.name).head for stream in streams] == [1, 1]
    turn.decide()
    _arrived(turn.connection)
    answers = turn.finish()
    assert [stream.model_version for stream in streams] == [3, 3]
    assert [store.stream(stream.name).head for stream in streams] == [3, 3]
    assert all(isinstance(answer, Decision) for each in answers for answer in each)


def test_a_stream_lives_in_turns_as_it_does_with_threads(
    store: Store, clock: Clock, rng: np.random.Generator
) -> None:
    pair = [DecisionStream.create(store, name, SETTINGS, clock=clock) for name in ("one", "other")]
    waiting: list[list[str]] = [[], []]
    for step in range(30):
        offers = [candidates(rng) for _ in range(3)]
        for place, stream in enumerate(pair):
            told = [Tell(ticket, "left", f"rater {step}") for ticket in waiting[place]]
            seen = [Observe(ticket, [0.1, 0.2], [0.3, -0.1]) for ticket in waiting[place][1:]]
            operations: list[Operation] = [*told, *seen]
            operations += [Ask(offer, event_id=f"{step} {k}") for k, offer in enumerate(offers)]
            if step > 0 and place == 1:
                ((*answers,),) = _taken(begin_postgres_turn(store, [(stream, operations)]))
            else:
                answers = [_fine(one) for one in stream.commit(operations)]
            waiting[place] = [answer.ticket for answer in answers if isinstance(answer, Decision)]
    states = [stream.snapshot_state() for stream in pair]
    assert states[0] == states[1]
    for stream in pair:
        stream.close()
    reopened = DecisionStream.open(store, "other", clock=clock)
    assert reopened.snapshot_state() == states[1]
    reopened.close()


def test_a_name_that_was_heard_before_gets_the_same_duel(
    store: Store, streams: list[DecisionStream], rng: np.random.Generator
) -> None:
    ask = Ask(candidates(rng), event_id='a "name", {with} \\marks')
    ((first, again),) = _taken(begin_postgres_turn(store, [(streams[0], [ask, ask])]))
    ((later,),) = _taken(begin_postgres_turn(store, [(streams[0], [ask])]))
    assert isinstance(first, Decision)
    assert isinstance(again, Decision)
    assert isinstance(later, Decision)
    assert first.ticket == again.ticket == later.ticket
    assert (first.repeated, again.repeated, later.repeated) == (False, True, True)


def test_who_would_have_to_wait_is_told_so_and_leaves_no_trace(
    store: Store, streams: list[DecisionStream], clock: Clock, rng: np.random.Generator
) -> None:
    one, two = streams
    turn = begin_postgres_turn(store, [(one, [Ask(candidates(rng))])])
    with pytest.raises(Busy):  # there is one connection for this
        begin_postgres_turn(store, [(two, [Ask(candidates(rng))])])
    _taken(turn)
    with two.replica.lock, pytest.raises(Busy):
        begin_postgres_turn(store, [(one, [Ask(candidates(rng))]), (two, [Ask(candidates(rng))])])
    clock.now += SWEEP_SECONDS
    with pytest.raises(Busy):  # overdue duels are looked for first
        begin_postgres_turn(store, [(one, [Ask(candidates(rng))])])
    assert isinstance(two.commit([Ask(candidates(rng))])[0], Decision)
    assert (one.model_version, two.model_version) == (2, 2)


def test_a_lock_that_is_not_free_is_not_waited_for(
    store: Store, streams: list[DecisionStream], rng: np.random.Generator
) -> None:
    one, two = streams
    with store.writing(two.replica.row.id):
        turn = begin_postgres_turn(store, [(stream, [Ask(candidates(rng))]) for stream in streams])
        with pytest.raises(DBAPIError, match="could not obtain lock"):
            _arrived(turn.connection)
        turn.give_up()
        assert isinstance(one.ask(candidates(rng)), Decision)
    _taken(begin_postgres_turn(store, [(two, [Ask(candidates(rng))])]))
    assert (one.model_version, two.model_version) == (2, 2)


def test_a_stream_that_another_process_has_lengthened_catches_up_first(
    store: Store, streams: list[DecisionStream], clock: Clock, rng: np.random.Generator
) -> None:
    one, _ = streams
    other = DecisionStream.open(store, one.name, clock=clock)
    other.ask(candidates(rng))
    turn = begin_postgres_turn(store, [(one, [Ask(candidates(rng))])])
    _arrived(turn.connection)
    with pytest.raises(Busy):
        turn.decide()
    turn.give_up()
    one.ask(candidates(rng))
    with other.replica.lock:
        other.replica.refresh()
    assert one.snapshot_state() == other.snapshot_state()
    other.close()


def test_a_part_of_a_context_that_needs_the_one_before_is_left_to_who_may_wait(
    store: Store, streams: list[DecisionStream], rng: np.random.Generator
) -> None:
    one, _ = streams
    ticket = _duel(one, rng).ticket
    _taken(begin_postgres_turn(store, [(one, [Observe(ticket, {"y0": 1.0}, {})])]))
    rest = [Observe(ticket, {"y1": 1.0}, {"y0": 0.5, "y1": 0.0})]
    turn = begin_postgres_turn(store, [(one, rest)])
    _arrived(turn.connection)
    with pytest.raises(Busy):
        turn.decide()
    turn.give_up()
    (receipt,) = one.commit(rest)
    assert isinstance(receipt, Receipt)
    assert receipt.state == "observed"


def test_what_was_skipped_and_observed_at_once_is_looked_up_on_the_way(
    store: Store, streams: list[DecisionStream], rng: np.random.Generator
) -> None:
    one, _ = streams
    ticket = _duel(one, rng).ticket
    operations: list[Operation] = [Tell(ticket, "skip"), Observe(ticket, [1.0, 0.0], [0.5, 0.0])]
    ((told, observed),) = _taken(begin_postgres_turn(store, [(one, operations)]))
    assert isinstance(told, Receipt)
    assert isinstance(observed, Receipt)
    assert (told.state, observed.state) == ("skipped", "skipped")


def test_a_turn_that_fails_after_it_was_decided_leaves_the_state_of_the_log(
    store: Store, streams: list[DecisionStream], clock: Clock, rng: np.random.Generator
) -> None:
    one, _ = streams
    turn = begin_postgres_turn(store, [(one, [Ask(candidates(rng)), Ask(candidates(rng))])])
    _arrived(turn.connection)
    turn.connection.send("SELECT 1 / $1::INTEGER", (0,))
    turn.decide()
    with pytest.raises(DBAPIError, match="division by zero"):
        _arrived(turn.connection)
    turn.give_up()
    assert not turn.connection.is_lost
    assert store.stream(one.name).head == 1
    one.ask(candidates(rng))
    again = DecisionStream.open(store, one.name, clock=clock)
    assert again.snapshot_state() == one.snapshot_state()
    again.close()


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica, "ALONE_SECONDS", 0.0)


@pytest.mark.usefixtures("alone")
def test_what_is_known_is_not_asked_for(
    store: Store, streams: list[DecisionStream], rng: np.random.Generator
) -> None:
    one, two = streams
    ticket = _duel(one, rng).ticket
    turn = begin_postgres_turn(
        store, [(one, [Tell(ticket, "left"), Ask(candidates(rng))]), (two, [Ask(candidates(rng))])]
    )
    assert not turn.asks
    _taken(turn)
    assert [store.stream(stream.name).head for stream in streams] == [4, 2]
    turn = begin_postgres_turn(store, [(one, [Ask(candidates(rng), event_id="heard before?")])])
    assert turn.asks
    _taken(turn)
    one.replica._recent.clear()
    turn = begin_postgres_turn(store, [(one, [Tell(ticket, "left")])])
    assert turn.asks
    _taken(turn)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("what", ["lengthened", "rewritten", "damaged"])
def test_what_was_decided_ahead_is_refused_when_the_stream_does_not_stand_as_it_did(
    store: Store, streams: list[DecisionStream], clock: Clock, rng: np.random.Generator, what: str
) -> None:
    one, _ = streams
    other = DecisionStream.open(store, one.name, clock=clock)
    if what == "lengthened":
        other.ask(candidates(rng))
    elif what == "rewritten":
        erase_source(store, one.name, "ann")
    else:
        store.mark_damaged(one.replica.row.id, 1)
    turn = begin_postgres_turn(store, [(one, [Ask(candidates(rng))] * 3)])
    assert not turn.asks
    turn.decide()
    with pytest.raises(IntegrityError):
        _arrived(turn.connection)
    turn.give_up()
    if what == "damaged":
        with pytest.raises(ReadOnly):
            one.ask(candidates(rng))
    else:
        one.ask(candidates(rng))
        with other.replica.lock:
            other.replica.refresh()
        assert one.snapshot_state() == other.snapshot_state()
    other.close()


def post_turn_asks(store: Store, stream: DecisionStream, rng: np.random.Generator) -> bool:
    turn = begin_postgres_turn(store, [(stream, [Ask(candidates(rng))])])
    asks = turn.asks
    _taken(turn)
    return asks


def test_where_others_have_written_of_late_the_lock_is_asked_for(
    store: Store, streams: list[DecisionStream], clock: Clock, rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    one, _ = streams
    assert post_turn_asks(store, one, rng)
    monkeypatch.setattr(replica, "ALONE_SECONDS", 0.3)
    time.sleep(0.31)
    assert not post_turn_asks(store, one, rng)
    with DecisionStream.open(store, one.name, clock=clock) as other:
        other.ask(candidates(rng))
    one.ask(candidates(rng))
    assert post_turn_asks(store, one, rng)
