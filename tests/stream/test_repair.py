"""Damage is named, stops the stream, and is set aside by a repair that keeps everything."""

import numpy as np
import pytest
import sqlalchemy as sa
from living import SETTINGS, candidates, live, vote

from duelwise.errors import ReadOnly, UnknownTicket
from duelwise.storage import Store
from duelwise.stream import DecisionStream
from duelwise.stream.folding import StoredLog, fold
from duelwise.stream.repair import Repaired, repair, verify


def _execute(store: Store, statement: str, **values: object) -> list[tuple[object, ...]]:
    with store._changing() as connection:
        result = connection.execute(sa.text(statement), values)
        return [tuple(row) for row in result] if result.returns_rows else []


def _damage(store: Store, seq: int) -> None:
    _execute(store, "UPDATE events SET payload = :bytes WHERE seq = :seq", bytes=b"rubbish", seq=seq)


def _is_sound(stream: DecisionStream, store: Store) -> None:
    """The state is the fold of what is left, and so are the tickets."""
    log = StoredLog(store, 1)
    assert verify(store, stream.name) == ()
    assert fold(stream.settings, log, upto=stream.model_version).snapshot().payload == stream.snapshot_state()
    rows = store.tickets(1, range(store.stream(stream.name).rounds)).values()
    for state, count in stream.counts().items():
        cut = store.stream(stream.name).rounds - len(rows) if state == "retracted" else 0
        assert sum(row.state == state for row in rows) + cut == count


@pytest.fixture
def lived(store, clock, rng):
    """Three duels from question to vote (events 1 to 9), closed."""
    with DecisionStream.create(store, "meals", SETTINGS, clock=clock) as stream:
        return [vote(stream, rng) for _ in range(3)]


def test_a_damaged_event_stops_the_stream(store, clock, rng, lived):
    _damage(store, 5)
    with DecisionStream.open(store, "meals", clock=clock) as stream:
        assert "Event 5" in stream.read_only
        with pytest.raises(ReadOnly, match=r"Event 5.*repair"):
            stream.ask(candidates(rng))
        with pytest.raises(ReadOnly):
            stream.retract(lived[0])
        with pytest.raises(ReadOnly):
            stream.expire(0)
        assert "Event 5" in stream.report().read_only
    assert verify(store, "meals") == (5,)
    with DecisionStream.open(store, "meals", clock=clock) as stream:
        assert stream.read_only is not None


def test_a_sound_log_needs_no_repair(store, clock, rng, lived):
    before = store.stream("meals")
    assert repair(store, "meals", at=1.0) == Repaired((), (), 9)
    assert store.stream("meals") == before


def test_a_lost_context_leaves_the_vote_waiting(store, clock, rng, lived):
    _damage(store, 5)  # the context of the second duel
    assert repair(store, "meals", at=1.0) == Repaired((5,), (), 8)
    assert _execute(store, "SELECT seq, kind, payload FROM cut_events") == [(5, "observed", b"rubbish")]
    with DecisionStream.open(store, "meals", clock=clock) as stream:
        assert stream.read_only is None
        assert stream.ticket(lived[1]).state == "voted"
        _is_sound(stream, store)
        assert stream.observe(lived[1], [1.0, 2.0], [3.0, 4.0]).state == "told"
        live(stream, rng, 30)
        _is_sound(stream, store)


def test_a_lost_question_takes_its_answers_with_it(store, clock, rng, lived):
    _damage(store, 4)  # the second duel is asked
    assert repair(store, "meals", at=1.0) == Repaired((4,), (5, 6), 6)
    assert [row[0] for row in _execute(store, "SELECT seq FROM cut_events ORDER BY seq")] == [4, 5, 6]
    with DecisionStream.open(store, "meals", clock=clock) as stream:
        with pytest.raises(UnknownTicket):
            stream.ticket(lived[1])
        assert stream.ticket(lived[2]).state == "told"
        assert stream.counts()["retracted"] == 1
        _is_sound(stream, store)
        live(stream, rng, 30)
        _is_sound(stream, store)


def test_lost_rows_at_the_end(store, clock, rng, lived):
    with DecisionStream.open(store, "meals", clock=clock) as stream:
        stream.ask(candidates(rng))
    _execute(store, "DELETE FROM events WHERE seq IN (9, 10)")
    with DecisionStream.open(store, "meals", clock=clock) as stream:
        assert "Event 9" in stream.read_only
    assert repair(store, "meals", at=1.0) == Repaired((9, 10), (), 8)
    with DecisionStream.open(store, "meals", clock=clock) as stream:
        assert stream.ticket(lived[2]).state == "observed"
        _is_sound(stream, store)
        assert stream.ask(candidates(rng)).ticket.startswith("4-")
        _is_sound(stream, store)


def test_repairing_twice(store, clock, rng, lived):
    _damage(store, 4)
    repair(store, "meals", at=1.0)
    _damage(store, 7)
    assert repair(store, "meals", at=2.0) == Repaired((7,), (8, 9), 6)
    with DecisionStream.open(store, "meals", clock=clock) as stream:
        assert stream.counts()["told"] == 1
        _is_sound(stream, store)


def test_a_running_replica_notices_damage_and_repair(store, clock, rng):
    one = DecisionStream.create(store, "meals", SETTINGS, clock=clock)
    two = DecisionStream.open(store, "meals", clock=clock)
    for _ in range(3):
        vote(one, rng)
    _damage(store, 8)
    with pytest.raises(ReadOnly, match="Event 8"):
        two.ask(candidates(rng))
    with pytest.raises(ReadOnly, match="Event 8"):
        one.ask(candidates(rng))
    repair(store, "meals", at=1.0)
    vote(two, rng)
    vote(one, rng)
    assert one.snapshot_state() == two.snapshot_state()
    assert one.counts()["told"] == 4
    assert one.counts()["voted"] == 1
    _is_sound(one, store)
    one.close()
    two.close()


def test_a_damaged_snapshot_is_not_needed(store, clock, rng, lived):
    with DecisionStream.open(store, "meals", clock=clock) as stream:
        state = stream.snapshot_state()
    _execute(store, "UPDATE snapshots SET payload = :bytes", bytes=b"rubbish")
    with DecisionStream.open(store, "meals", clock=clock) as stream:
        assert stream.snapshot_state() == state
        assert np.isfinite(stream.report().log_det_served)
