"""Looking at every row of a stream, and setting damaged ones aside: nothing is thrown away."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from duelwise.storage import schema
from duelwise.storage.reading import READ_CHUNK, newest_snapshot
from duelwise.storage.rows import (
    EventRow,
    SnapshotRow,
    StreamRow,
    TicketRow,
    event_checksum,
    is_intact,
    snapshot_checksum,
)
from duelwise.storage.writer import write_snapshot

MOST_LOST = 100_000  # events missing at the end of a log that may have been there


class Scanned(NamedTuple):
    """What stands where event `seq` should be."""

    seq: int
    event: EventRow | None  # None: damaged or missing
    kind: str | None  # what the row calls itself, even if damaged


class Scanner:
    """One moment of a stream, looked at whole."""

    def __init__(self, connection: Connection, stream: StreamRow) -> None:
        self._connection, self.stream = connection, stream

    def scan(self) -> Iterator[Scanned]:
        """Every number from 1 to the head, or to the last event there is, whatever is found there."""
        columns = [schema.events.c[name] for name in EventRow._fields]
        after, upto = 0, self._last_number()
        while after < upto:
            query = (
                sa.select(*columns, schema.events.c.checksum)
                .where(schema.events.c.stream_id == self.stream.id, schema.events.c.seq > after)
                .where(schema.events.c.seq <= after + READ_CHUNK)
            )
            rows = {row.seq: row for row in self._connection.execute(query)}
            for seq in range(after + 1, min(after + READ_CHUNK, upto) + 1):
                yield _scanned(seq, rows.get(seq))
            after += READ_CHUNK

    def _last_number(self) -> int:
        """A head far beyond the last event is a wrong head; a little beyond, events are missing."""
        query = sa.select(sa.func.max(schema.events.c.seq)).where(schema.events.c.stream_id == self.stream.id)
        last: int = self._connection.execute(query).scalar() or 0
        return last if self.stream.head > last + MOST_LOST else max(last, self.stream.head)

    def tickets(self) -> Iterator[TicketRow]:
        """Every ticket of the stream, by round."""
        table, after = schema.tickets.c, -1
        columns = [table[name] for name in TicketRow._fields]
        while True:
            query = (
                sa.select(*columns)
                .where(table.stream_id == self.stream.id, table.round > after)
                .order_by(table.round)
                .limit(READ_CHUNK)
            )
            rows = self._connection.execute(query).all()
            if not rows:
                return
            yield from map(TicketRow._make, rows)
            after = rows[-1].round

    def damaged_snapshots(self) -> list[int]:
        """The numbers of snapshots that fail their checksum."""
        table = schema.snapshots.c
        columns = (table.seq, table.payload, table.checksum)
        rows = self._connection.execute(sa.select(*columns).where(table.stream_id == self.stream.id))
        return [
            seq for seq, payload, checksum in rows if snapshot_checksum(SnapshotRow(seq, payload)) != checksum
        ]


class Repairer(Scanner):
    """A locked stream whose log may be rewritten."""

    def drop_snapshots(self, numbers: Iterable[int]) -> None:
        """They are only a short cut: the log has all."""
        table = schema.snapshots
        self._connection.execute(
            sa.delete(table).where(table.c.stream_id == self.stream.id, table.c.seq.in_(list(numbers)))
        )

    def set_aside(self, replacement: EventRow, *, reason: str, at: float) -> None:
        """Move what stands at a number to the side table and put `replacement` there."""
        table, aside = schema.events, schema.cut_events
        here = (table.c.stream_id == self.stream.id, table.c.seq == replacement.seq)
        moved = ["seq", "kind", "round", "event_id", "at", "payload", "checksum"]
        copied = self._connection.execute(
            sa.insert(aside).from_select(
                ["stream_id", "cut_at", "reason", *moved],
                sa.select(
                    table.c.stream_id, sa.literal(at), sa.literal(reason), *(table.c[name] for name in moved)
                ).where(*here),
            )
        )
        if copied.rowcount == 0:
            self._connection.execute(
                sa.insert(aside),
                {"stream_id": self.stream.id, "cut_at": at, "reason": reason, "seq": replacement.seq},
            )
        self._connection.execute(sa.delete(table).where(*here))
        checksum = event_checksum(replacement)
        self._connection.execute(
            sa.insert(table), replacement._asdict() | {"stream_id": self.stream.id, "checksum": checksum}
        )

    def finish(self, *, tickets: Iterable[TicketRow], head: int, rounds: int, first_cut: int) -> None:
        """Write the tickets anew, drop states that knew what was cut, and open the stream again."""
        of_stream = self.stream.id
        self._connection.execute(sa.delete(schema.tickets).where(schema.tickets.c.stream_id == of_stream))
        remaining = iter(tickets)
        while chunk := [
            ticket._asdict() | {"stream_id": of_stream} for ticket in islice(remaining, READ_CHUNK)
        ]:
            self._connection.execute(sa.insert(schema.tickets), chunk)
        table = schema.snapshots.c
        self._connection.execute(
            sa.delete(schema.snapshots).where(table.stream_id == of_stream, table.seq >= first_cut)
        )
        self._connection.execute(
            sa.update(schema.streams)
            .where(schema.streams.c.id == of_stream)
            .values(head=head, rounds=rounds, generation=self.stream.generation + 1, damaged=None)
        )


class SourceEraser(Scanner):
    """A locked stream in which the name of a source is written over wherever it stands."""

    def __init__(self, connection: Connection, stream: StreamRow) -> None:
        super().__init__(connection, stream)
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("PRAGMA secure_delete = ON")  # old bytes are zeroed, not only freed

    def snapshot(self, *, format: int, arithmetic: int) -> SnapshotRow | None:
        """The newest intact state of this layout and arithmetic."""
        return newest_snapshot(
            self._connection, self.stream.id, upto=self.stream.head, format=format, arithmetic=arithmetic
        )

    def rewrite(self, event: EventRow) -> None:
        """The same event with another payload."""
        table = schema.events
        self._connection.execute(
            sa.update(table)
            .where(table.c.stream_id == self.stream.id, table.c.seq == event.seq)
            .values(payload=event.payload, checksum=event_checksum(event))
        )

    def cut_events(self) -> list[tuple[int, bytes | None]]:
        """What repairs have set aside: the row's own number and its payload."""
        table = schema.cut_events.c
        query = sa.select(table.id, table.payload).where(table.stream_id == self.stream.id)
        return [(id, payload) for id, payload in self._connection.execute(query)]

    def blank(self, cut: int) -> None:
        """What was set aside loses its payload; its number and reason stay."""
        table = schema.cut_events
        self._connection.execute(sa.update(table).where(table.c.id == cut).values(payload=b""))

    def finish(self, source: str, pseudonym: str, snapshots: Iterable[SnapshotRow]) -> None:
        """Tickets carry the other name, only these states are kept, and every process reads them anew."""
        of_stream, tickets, kept = self.stream.id, schema.tickets, schema.snapshots
        self._connection.execute(
            sa.update(tickets)
            .where(tickets.c.stream_id == of_stream, tickets.c.source == source)
            .values(source=pseudonym)
        )
        self._rename_among_many(source, pseudonym)
        self._connection.execute(sa.delete(kept).where(kept.c.stream_id == of_stream))
        for snapshot in snapshots:
            write_snapshot(self._connection, of_stream, snapshot)
        self._connection.execute(
            sa.update(schema.streams)
            .where(schema.streams.c.id == of_stream)
            .values(generation=self.stream.generation + 1)
        )

    def _rename_among_many(self, source: str, pseudonym: str) -> None:
        """The same in tickets with several votes."""
        table, name = schema.tickets.c, json.dumps(source)
        of_stream = table.stream_id == self.stream.id
        query = sa.select(table.round, table.votes).where(
            of_stream, table.votes.contains(name, autoescape=True)
        )
        for round, votes in self._connection.execute(query).all():
            renamed = [[seq, won, pseudonym if by == source else by] for seq, won, by in json.loads(votes)]
            self._connection.execute(
                sa.update(schema.tickets)
                .where(of_stream, table.round == round)
                .values(votes=json.dumps(renamed))
            )


def _scanned(seq: int, row: sa.Row[tuple[object, ...]] | None) -> Scanned:
    if row is None:
        return Scanned(seq, None, None)
    *columns, checksum = row
    event = EventRow._make(columns)
    return Scanned(seq, event if is_intact(event, checksum) else None, event.kind)
