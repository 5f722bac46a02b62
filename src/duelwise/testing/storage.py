"""What every database under a stream must do. Inherit, and set `url` to a fresh, empty one.

class TestMine(StoreConformance):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path):
        self.url = f"sqlite:///{tmp_path}/duels.db"
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from duelwise.errors import Conflict, Damaged, UnknownStream
from duelwise.storage import KeyRow, SnapshotRow, Store, StreamRow, TicketRow, Writer, open_store
from duelwise.storage.database import open_engine
from duelwise.storage.rows import TicketPlace

E = TypeVar("E", bound=Exception)

AT = 0.1 + 0.2  # no short decimal: a lossy column would change it


class StoreConformance:
    """What every store must do; a subclass gives the `url` of an empty one."""

    url: str

    # -- streams ------------------------------------------------------------------------

    def test_a_stream_is_created_once(self) -> None:
        with self._store() as store:
            first, new = store.create_stream(name="meals ü", uid="one", settings="{}", at=AT)
            again, renewed = store.create_stream(name="meals ü", uid="two", settings="[]", at=2.0)
            assert (new, renewed) == (True, False)
            assert again == first
            assert (first.uid, first.created_at, first.head, first.rounds) == ("one", AT, 0, 0)
            assert store.streams() == [first]
            assert store.stream("meals ü") == first == store.current(first.id)

    def test_an_unknown_stream_names_the_nearest(self) -> None:
        with self._stream() as (store, _):
            error = _raises(UnknownStream, lambda: store.stream("meels"))
            assert "'meals'" in str(error)
            for name in ("", "a\0b", "\ud800", "x" * 100_000):
                _raises(UnknownStream, partial(store.stream, name))

    def test_opening_again_finds_everything(self) -> None:
        with self._stream() as (store, stream):
            _append(store, stream, b"one", b"two")
            store.add_snapshot(stream.id, SnapshotRow(2, b"state"), generation=0)
        with self._store() as store:
            assert store.stream("meals").head == 2
            assert store.snapshot(stream.id, upto=2, format=1, arithmetic=1) == SnapshotRow(2, b"state")

    # -- the log ------------------------------------------------------------------------

    def test_events_come_back_as_they_were(self) -> None:
        payload = bytes(range(256))
        with self._stream() as (store, stream):
            with store.writing(stream.id) as writer:
                assert writer.append("asked", payload, at=AT, round=writer.next_round(), event_id="ä'\"") == 1
                assert writer.append("note", b"", at=-5e-324) == 2
                assert writer.event(1).payload == payload
            first, second = store.events(stream.id, after=0, upto=2)
            assert first == (1, "asked", 0, "ä'\"", AT, payload)
            assert second == (2, "note", -1, None, -5e-324, b"")
            assert (store.current(stream.id).head, store.current(stream.id).rounds) == (2, 1)
            with store.writing(stream.id) as writer:
                assert writer.event(2) == second
                assert writer.named(["ä'\"", "other"]) == {"ä'\"": first}

    def test_a_failed_transaction_leaves_nothing(self) -> None:
        def fail() -> None:
            with store.writing(stream.id) as writer:
                _ask(writer)
                raise RuntimeError

        with self._stream() as (store, stream):
            _raises(RuntimeError, fail)
            assert store.current(stream.id) == stream
            assert store.tickets(stream.id, [0]) == {}

    def test_an_event_id_is_taken_once(self) -> None:
        def order(number: int) -> None:
            with store.writing(stream.id) as writer:
                writer.append("asked", b"", at=AT, event_id=f"order {number}")

        with self._stream() as (store, stream):
            for number in range(1, 31):  # whether the error is known at the commit depends on the moment
                order(number)
                _raises(IntegrityError, partial(order, number))
                assert store.current(stream.id).head == number

    def test_writers_give_numbers_in_commit_order(self) -> None:
        def write(_: int) -> list[int]:
            with store.writing(stream.id) as writer:
                return [writer.append("note", b"x", at=AT), writer.append("note", b"y", at=AT)]

        with self._stream() as (store, stream), ThreadPoolExecutor(4) as pool:
            pairs = list(pool.map(write, range(24)))
            assert sorted(seq for pair in pairs for seq in pair) == list(range(1, 49))
            assert all(second == first + 1 for first, second in pairs)
            assert len(list(store.events(stream.id, after=0, upto=48))) == 48

    def test_a_reader_sees_a_prefix_while_others_write(self) -> None:
        def write(_: int) -> None:
            _append(store, stream, b"x")

        with self._stream() as (store, stream), ThreadPoolExecutor(3) as pool:
            writes = [pool.submit(write, n) for n in range(30)]
            while not all(done.done() for done in writes):
                head = store.current(stream.id).head
                assert [event.seq for event in store.events(stream.id, after=0, upto=head)] == list(
                    range(1, head + 1)
                )
            for done in writes:
                done.result()

    def test_streams_do_not_mix(self) -> None:
        with self._stream() as (store, stream):
            other, _ = store.create_stream(name="rides", uid="two", settings="{}", at=AT)
            _append(store, stream, b"meal")
            with store.writing(other.id) as writer:
                assert writer.append("note", b"ride", at=AT) == 1
            assert [event.payload for event in store.events(other.id, after=0, upto=1)] == [b"ride"]

    def test_events_of_some_kinds_are_found_apart(self) -> None:
        with self._stream() as (store, stream):
            with store.writing(stream.id) as writer:
                for kind in ("asked", "retracted", "told", "rebuilt"):
                    writer.append(kind, b"", at=AT)
            kinds = ("retracted", "rebuilt")
            assert [event.seq for event in store.events_of(stream.id, kinds, upto=3)] == [2]
            assert [event.seq for event in store.events_of(stream.id, kinds, upto=4)] == [2, 4]

    # -- damage -------------------------------------------------------------------------

    def test_a_changed_event_is_named(self) -> None:
        for column, value in {"payload": b"thrEe", "at": 0.3, "round": 5, "kind": "tolD"}.items():
            self._damage(f"changed {column}", {column: value})

    def test_a_missing_event_is_named(self) -> None:
        self._damage("missing", None)

    def _damage(self, name: str, change: dict[str, object] | None) -> None:
        with self._store() as store:
            stream, _ = store.create_stream(name=name, uid="one", settings="{}", at=AT)
            _append(store, stream, b"one", b"two", b"three", b"four")
            where = "WHERE stream_id = :stream AND seq = 3"
            if change is None:
                self._execute(f"DELETE FROM events {where}", stream=stream.id)
            else:
                column, value = next(iter(change.items()))
                self._execute(f"UPDATE events SET {column} = :value {where}", stream=stream.id, value=value)
            error = _raises(Damaged, lambda: list(store.events(stream.id, after=0, upto=4)))
            assert error.seq == 3
            assert "3" in str(error)
            assert len(list(store.events(stream.id, after=0, upto=2))) == 2
            store.mark_damaged(stream.id, 3)
            store.mark_damaged(stream.id, 4)
            assert store.current(stream.id).damaged == 3

    def test_a_damaged_snapshot_gives_way_to_an_older_one(self) -> None:
        with self._stream() as (store, stream):
            for seq in (5, 6, 7, 8):
                store.add_snapshot(stream.id, SnapshotRow(seq, b"state %d" % seq), generation=0)
            assert (
                store.snapshot(stream.id, upto=5, format=1, arithmetic=1) is None
            )  # only the newest three are kept
            store.add_snapshot(stream.id, SnapshotRow(9, b"rewritten"), generation=1)
            assert store.snapshot(stream.id, upto=9, format=1, arithmetic=1) == SnapshotRow(8, b"state 8")
            assert store.snapshot(stream.id, upto=7, format=1, arithmetic=1) == SnapshotRow(7, b"state 7")
            self._execute("UPDATE snapshots SET payload = :value WHERE seq = 8", value=b"state 9")
            assert store.snapshot(stream.id, upto=9, format=1, arithmetic=1) == SnapshotRow(7, b"state 7")

    # -- tickets ------------------------------------------------------------------------

    def test_tickets_follow_their_events(self) -> None:
        with self._stream() as (store, stream):
            with store.writing(stream.id) as writer:
                first, second = _ask(writer), _ask(writer)
                writer.put(second._replace(state="observed", observed_seq=2))
            with store.writing(stream.id) as writer:
                assert writer.tickets([0, 1, 2]) == {
                    0: first,
                    1: second._replace(state="observed", observed_seq=2),
                }
                told = writer.append("told", b"", at=AT, round=0)
                changed = first._replace(
                    state="told", told_seq=told, outcome=0.5, source="phone", swapped=True
                )
                writer.put(changed)
            assert store.tickets(stream.id, [0]) == {0: changed}
            with store.writing(stream.id) as writer:
                assert writer.from_source("phone", after=-1, limit=9) == [changed]
                assert writer.from_source("phone", after=0, limit=9) == []
                assert [ticket.round for ticket in writer.overdue(asked_before=AT + 1, limit=9)] == [1]
                assert writer.overdue(asked_before=AT, limit=9) == []
                (found,) = writer.overdue(asked_before=AT + 1, after=TicketPlace(AT, 0), limit=9)
                assert writer.overdue(asked_before=AT + 1, after=found.place, limit=9) == []

    # -- keys ---------------------------------------------------------------------------

    def test_keys_are_kept_and_revoked(self) -> None:
        key = KeyRow("till", "write", "meals", "hash", AT, None)
        with self._store() as store:
            store.keys.add(key)
            _raises(Conflict, lambda: store.keys.add(key._replace(hash="other")))
            assert store.keys.all() == [key]
            store.keys.revoke("till", at=2.0)
            store.keys.revoke("till", at=3.0)
            assert store.keys.all() == [key._replace(revoked_at=2.0)]

    # -- help ---------------------------------------------------------------------------

    @contextmanager
    def _store(self) -> Generator[Store]:
        store = open_store(self.url)
        try:
            yield store
        finally:
            store.close()

    @contextmanager
    def _stream(self) -> Generator[tuple[Store, StreamRow]]:
        with self._store() as store:
            yield store, store.create_stream(name="meals", uid="one", settings="{}", at=AT)[0]

    def _execute(self, statement: str, **values: object) -> None:
        """Change the database behind the store's back."""
        engine = open_engine(self.url)
        with engine.connect().execution_options(writes=True) as connection:
            connection.execute(sa.text(statement), values)
            connection.commit()
        engine.dispose()


def _append(store: Store, stream: StreamRow, *payloads: bytes) -> None:
    with store.writing(stream.id) as writer:
        for payload in payloads:
            writer.append("note", payload, at=AT)


def _ask(writer: Writer) -> TicketRow:
    round = writer.next_round()
    seq = writer.append("asked", b"", at=AT, round=round)
    ticket = TicketRow(round, "tag", "asked", AT, seq, None, None, None, None, None, False)
    writer.put(ticket)
    return ticket


def _raises(kind: type[E], call: Callable[[], object]) -> E:
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"expected {kind.__name__}")
