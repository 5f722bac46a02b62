"""Damage is named, stops the stream, and is set aside by a repair that keeps everything."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from living import SETTINGS, Clock, candidates, live, vote
from numpy.random import Generator

from duelwise.errors import ReadOnly, StorageFailure, TicketDamaged, UnknownTicket
from duelwise.storage import Store, open_store
from duelwise.stream import DecisionStream, decision_stream, replica, weighted_sources
from duelwise.stream.events import Observed, Told, encode
from duelwise.stream.folding import fold
from duelwise.stream.logs import StoredLog
from duelwise.stream.repair import Repaired, repair, verify
from known import known


def _execute(store: Store, statement: str, **values: object) -> list[tuple[Any, ...]]:
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
def lived(store: Store, clock: Clock, rng: Generator):
    """Three duels from question to vote (events 1 to 9), closed."""
    with DecisionStream.create(store, "meals", SETTINGS, clock=clock) as stream:
        return [vote(stream, rng) for _ in range(3)]


def test_a_damaged_event_stops_the_stream(
    store: Store, clock: Clock, rng: Generator, lived: list[str]
) -> None:
    _damage(store, 5)
    with DecisionStream.open(store, "meals", clock=clock) as stream:
        assert "Event 5" in known(stream.read_only)
        with pytest.raises(ReadOnly, match=r"Event 5.*repair"):
            stream.ask(candidates(rng))
        with pytest.raises(ReadOnly):
            stream.retract(lived[0])
        with pytest.raises(ReadOnly):
            stream.expire(0)
        assert "Event 5" in known(stream.report().read_only)
    assert [finding.seq for finding in verify(store, "meals")] == [5, None]  # and a ticket's row
    with DecisionStream.open(store, "meals", clock=clock) as stream:
        assert stream.read_only is not None


def test_a_sound_log_needs_no_repair(store: Store, clock: Clock, rng: Generator, lived: list[str]) -> None:
    before = store.stream("meals")
    assert repair(store, "meals", at=1.0) == Repaired((), (), 9)
    assert store.stream("meals") == before


def test_a_lost_context_leaves_the_vote_waiting(
    store: Store, clock: Clock, rng: Generator, lived: list[str]
) -> None:
    _damage(store, 5)  # the context of the second duel
    assert repair(store, "meals", at=1.0) == Repaired((5,), (), 8, tickets=1)
    assert _execute(store, "SELECT seq, kind, payload FROM cut_events") == [(5, "observed", b"rubbish")]
    with DecisionStream.open(store, "meals", clock=clock) as stream:
        assert stream.read_only is None
        assert stream.ticket(lived[1]).state == "voted"
        _is_sound(stream, store)
        assert stream.observe(lived[1], [1.0, 2.0], [3.0, 4.0]).state == "told"
        live(stream, rng, 30)
        _is_sound(stream, store)


def test_a_lost_question_takes_its_answers_with_it(
    store: Store, clock: Clock, rng: Generator, lived: list[str]
) -> None:
    _damage(store, 4)  # the second duel is asked
    assert repair(store, "meals", at=1.0) == Repaired((4,), (5, 6), 6, tickets=1)
    assert [row[0] for row in _execute(store, "SELECT seq FROM cut_events ORDER BY seq")] == [4, 5, 6]
    with DecisionStream.open(store, "meals", clock=clock) as stream:
        with pytest.raises(UnknownTicket):
            stream.ticket(lived[1])
        assert stream.ticket(lived[2]).state == "told"
        assert stream.counts()["retracted"] == 1
        _is_sound(stream, store)
        live(stream, rng, 30)
        _is_sound(stream, store)


def test_lost_rows_at_the_end(store: Store, clock: Clock, rng: Generator, lived: list[str]) -> None:
    with DecisionStream.open(store, "meals", clock=clock) as stream:
        stream.ask(candidates(rng))
    _execute(store, "DELETE FROM events WHERE seq IN (9, 10)")
    with DecisionStream.open(store, "meals", clock=clock) as stream:
        assert "Event 9" in known(stream.read_only)
    assert repair(store, "meals", at=1.0) == Repaired((9, 10), (), 8, tickets=2)
    with DecisionStream.open(store, "meals", clock=clock) as stream:
        assert stream.ticket(lived[2]).state == "observed"
        _is_sound(stream, store)
        assert stream.ask(candidates(rng)).ticket.startswith("4-")
        _is_sound(stream, store)


def test_repairing_twice(store: Store, clock: Clock, rng: Generator, lived: list[str]) -> None:
    _damage(store, 4)
    repair(store, "meals", at=1.0)
    _damage(store, 7)
    assert repair(store, "meals", at=2.0) == Repaired((7,), (8, 9), 6, tickets=1)
    with DecisionStream.open(store, "meals", clock=clock) as stream:
        assert stream.counts()["told"] == 1
        _is_sound(stream, store)


def test_a_running_replica_notices_damage_and_repair(store: Store, clock: Clock, rng: Generator) -> None:
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


def test_a_damaged_snapshot_is_not_needed(
    store: Store, clock: Clock, rng: Generator, lived: list[str]
) -> None:
    with DecisionStream.open(store, "meals", clock=clock) as stream:
        state = stream.snapshot_state()
    _execute(store, "UPDATE snapshots SET payload = :bytes", bytes=b"rubbish")
    with DecisionStream.open(store, "meals", clock=clock) as stream:
        assert stream.snapshot_state() == state
        assert np.isfinite(stream.report().log_det_served)
    _execute(store, "UPDATE snapshots SET payload = :bytes", bytes=b"rubbish")
    assert verify(store, "meals")[0].says.startswith("The snapshot after event 9 is damaged")
    assert repair(store, "meals", at=1.0) == Repaired((), (), 9, snapshots=1)
    assert verify(store, "meals") == ()


def test_rows_that_look_open_keep_no_sweep_from_the_others(
    store: Store, clock: Clock, rng: Generator, lived: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are the oldest and stay as they are, more of them than are closed at once."""
    monkeypatch.setattr(decision_stream, "CLOSED_AT_ONCE", 2)
    monkeypatch.setattr(replica, "SWEEP_MOST", 2)
    _execute(store, "UPDATE tickets SET state = 'observed', told_seq = NULL, outcome = NULL")
    with DecisionStream.open(store, "meals", clock=clock) as stream:
        late = [stream.ask(candidates(rng)).ticket for _ in range(3)]
        clock.now += 1
        assert stream.expire(older_than=0.5) == 3
        assert {stream.ticket(ticket).state for ticket in late} == {"expired"}
        late = [stream.ask(candidates(rng)).ticket for _ in range(3)]
        clock.pass_slowly(stream, SETTINGS.vote_ttl_seconds + 1)
        for _ in range(4):  # each sweep closes two at the most
            stream.ask(candidates(rng))
        assert {stream.ticket(ticket).state for ticket in late} == {"expired"}


def test_a_row_that_looks_untold_takes_no_second_vote(
    store: Store, clock: Clock, rng: Generator, lived: list[str]
) -> None:
    _execute(store, "UPDATE tickets SET state = 'observed', told_seq = NULL, outcome = NULL WHERE round = 1")
    with DecisionStream.open(store, "meals", clock=clock) as stream:
        with pytest.raises(TicketDamaged, match=r"log says otherwise.*repair"):
            stream.tell(lived[1], "left")
        assert stream.expire(older_than=-1) == 0
        assert stream.retract_source("nobody") == 0
        vote(stream, rng)  # the others are served
        assert store.stream("meals").head == 12
    findings = verify(store, "meals")
    assert [finding.seq for finding in findings] == [None]
    assert "duels 1" in findings[0].says
    generation = store.stream("meals").generation
    assert repair(store, "meals", at=1.0) == Repaired((), (), 12, tickets=1)
    assert store.stream("meals").generation == generation + 1
    with DecisionStream.open(store, "meals", clock=clock) as stream:
        assert not stream.tell(lived[1], "left").changed
        _is_sound(stream, store)


@pytest.mark.parametrize("wrong", ["head = 7", "rounds = 2", "head = 7, rounds = 1", "head = 1000000000000"])
def test_a_stream_that_miscounts_is_stopped_and_counted_again(
    store: Store, clock: Clock, rng: Generator, lived: list[str], wrong: str
) -> None:
    running = DecisionStream.open(store, "meals", clock=clock)
    state = running.snapshot_state()
    _execute(store, f"UPDATE streams SET {wrong}")
    with pytest.raises(ReadOnly, match="repair"):
        running.ask(candidates(rng))
    with DecisionStream.open(store, "meals", clock=clock) as stream, pytest.raises(ReadOnly, match="repair"):
        stream.ask(candidates(rng))
    assert any("row counts" in finding.says for finding in verify(store, "meals"))
    assert repair(store, "meals", at=1.0) == Repaired((), (), 9, recounted=True)
    assert running.snapshot_state() == state
    vote(running, rng)
    _is_sound(running, store)
    running.close()


def test_a_second_vote_in_the_log_is_cut_and_kept(
    store: Store, clock: Clock, rng: Generator, lived: list[str]
) -> None:
    second = encode(Told(1, 0.0, None))
    with store.writing(1) as writer:
        writer.append("told", second, at=5.0, round=1)
    with DecisionStream.open(store, "meals", clock=clock) as stream:
        with pytest.raises(ReadOnly, match="Event 10 says that duel 1 was told"):
            stream.ask(candidates(rng))
        assert stream.counts()["told"] == 3
    assert verify(store, "meals")[0].seq == 10
    assert repair(store, "meals", at=1.0) == Repaired((), (10,), 9)
    assert _execute(store, "SELECT seq, payload, reason FROM cut_events") == [
        (10, second, "says that duel 1 was told, which was told")
    ]
    with DecisionStream.open(store, "meals", clock=clock) as stream:
        vote(stream, rng)
        _is_sound(stream, store)


def test_an_event_that_nobody_can_read_is_damage(
    store: Store, clock: Clock, rng: Generator, lived: list[str]
) -> None:
    with store.writing(1) as writer:
        writer.append("sung", b"rubbish", at=5.0, round=1)
        writer.append("observed", encode(Observed(1, np.full((2, 2), np.nan))), at=5.0, round=1)
    with DecisionStream.open(store, "meals", clock=clock) as stream:
        assert "Event 10 ('sung') cannot be read" in known(stream.read_only)
    assert [finding.seq for finding in verify(store, "meals")] == [10, 11]
    assert repair(store, "meals", at=1.0) == Repaired((10,), (11,), 9)


@pytest.mark.parametrize("table", ["events", "tickets_open", "tickets"])
def test_a_zeroed_page_is_seen(tmp_path: Path, clock: Clock, rng: Generator, table: str) -> None:
    store = open_store(f"sqlite:///{tmp_path}/duels.db")
    with DecisionStream.create(store, "meals", SETTINGS, clock=clock) as stream:
        live(stream, rng, 200)
    [(page,)] = _execute(store, f"SELECT max(pageno) FROM dbstat WHERE name = '{table}'")
    [(size,)] = _execute(store, "PRAGMA page_size")
    assert verify(store, "meals") == ()
    store.close()
    _zero(tmp_path / "duels.db", page, size)
    store = open_store(f"sqlite:///{tmp_path}/duels.db")
    assert "The database says" in verify(store, "meals")[0].says
    with pytest.raises(StorageFailure, match=r"database itself is damaged.*restore a backup"):
        repair(store, "meals", at=1.0)
    store.close()


def test_an_index_that_lost_rows_is_made_anew(tmp_path: Path, clock: Clock, rng: Generator) -> None:
    path = tmp_path / "duels.db"
    store = open_store(f"sqlite:///{path}")
    with DecisionStream.create(store, "meals", SETTINGS, clock=clock) as stream:
        for _ in range(5):
            stream.ask(candidates(rng))
    store.close()
    with closing(sqlite3.connect(path)) as connection:
        [entry] = connection.execute("SELECT * FROM sqlite_master WHERE name = 'tickets_open'").fetchall()
    _rewrite_schema(path, "DELETE FROM sqlite_master WHERE name = 'tickets_open'", ())
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT INTO tickets SELECT stream_id, 9, tag, state, asked_at, asked_seq, "
                           "observed_seq, told_seq, closed_seq, outcome, source, swapped, wanted, votes "
                           "FROM tickets WHERE round = 1")  # fmt: skip
        connection.commit()
    _rewrite_schema(path, "INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", entry)
    store = open_store(f"sqlite:///{path}")
    assert "tickets_open" in verify(store, "meals")[0].says
    assert repair(store, "meals", at=1.0) == Repaired((), (), 5, tickets=1)
    assert verify(store, "meals") == ()
    store.close()


def _rewrite_schema(path: Path, statement: str, values: tuple[object, ...]) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(statement, values)
        connection.commit()


def _zero(path: Path, page: int, size: int) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(bytes(size))


def test_damage_that_a_judgement_of_sources_meets_is_kept_in_mind(
    store: Store, clock: Clock, rng: Generator
) -> None:
    with DecisionStream.create(store, "meals", replace(SETTINGS, sources="weighted"), clock=clock) as stream:
        vote(stream, rng, source="ann")
        _damage(store, 1)
        for _ in range(weighted_sources.FIRST - 1):
            vote(stream, rng, source="bob")
        stream.wait_for_background()
        assert stream.report().problem is None
        assert "Event 1 " in (stream.read_only or "")
        assert store.stream("meals").damaged == 1
