"""What is read of a stream: its row, its events and states, checked, and its tickets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.engine.interfaces import DBAPICursor

from duelwise.errors import Damaged
from duelwise.storage import schema
from duelwise.storage.compiled_statements import ByKeys, CompiledStatement, OneOf, Sender
from duelwise.storage.rows import (
    EventColumns,
    EventRow,
    SnapshotRow,
    StreamRow,
    TicketRow,
    are_intact,
    is_intact,
    snapshot_checksum,
)
from duelwise.storage.sqlite_connection import Row

READ_CHUNK = 2000  # events fetched at once, of which nothing is known
LONGEST_CHUNK, CHUNK_BYTES = 8000, 4_000_000  # of a log that is read on: so many small ones, or so much

_event_columns = [schema.events.c[name] for name in EventRow._fields]
TICKET_COLUMNS = [schema.tickets.c[name] for name in TicketRow._fields]
_stream_id: sa.BindParameter[int] = sa.bindparam("of_stream")


def _between(columns: Sequence[sa.Column[Any]]) -> CompiledStatement:
    return CompiledStatement(
        sa.select(*columns, schema.events.c.checksum)
        .where(
            schema.events.c.stream_id == _stream_id,
            schema.events.c.seq > sa.bindparam("after"),
            schema.events.c.seq <= sa.bindparam("upto"),
        )
        .order_by(schema.events.c.seq),
        ["of_stream", "after", "upto"],
    )


_EVENTS_BETWEEN, _UNNUMBERED_BETWEEN = _between(_event_columns), _between(_event_columns[1:])
TICKETS = ByKeys(TICKET_COLUMNS, schema.tickets.c.stream_id, schema.tickets.c.round)
NAMED_EVENTS = ByKeys(
    [*_event_columns, schema.events.c.checksum], schema.events.c.stream_id, schema.events.c.event_id
)


STREAM_COLUMNS = [schema.streams.c[name] for name in StreamRow._fields]
_STREAMS = OneOf(STREAM_COLUMNS, schema.streams.c.id)


def checked(row: Iterable[Any]) -> EventRow:
    """The event of a fetched row (its columns and checksum), or the error that names it."""
    seq, kind, round, event_id, at, payload, checksum = row
    event = EventRow(seq, kind, round, event_id, at, payload)
    if not is_intact(event, checksum):
        raise Damaged(
            f"Event {event.seq} fails its checksum: its bytes are not what was recorded. "
            "The stream can be read up to there; `repair` sets the row aside.",
            seq=event.seq,
        )
    return event


def read_events(connection: Sender, stream_id: int, *, after: int, upto: int) -> Iterator[EventRow]:
    """Events after < seq ≤ upto in order; a damaged or missing one is an error that names it."""
    for columns in read_columns(connection, stream_id, after=after, upto=upto):
        yield from map(EventRow, *columns)


def read_columns(
    connection: Sender, stream_id: int, *, after: int, upto: int, chunk: int = READ_CHUNK
) -> Iterator[EventColumns]:
    """The same, so many at a time."""
    while after < upto:
        end = min(upto, after + chunk)
        intact = _read_intact(connection, stream_id, after, end)
        for columns in _up_to_damage(connection, stream_id, after, end) if intact is None else [intact]:
            yield columns
            after = columns.seq[-1]


def _read_intact(connection: Sender, stream_id: int, after: int, end: int) -> EventColumns | None:
    """The same at once, where all are there: their numbers need not be read. None if some are damaged."""
    rows = _UNNUMBERED_BETWEEN.all(connection, (stream_id, after, end))
    if len(rows) < end - after:
        return None
    *told, checksums = zip(*rows, strict=True)
    events = EventColumns(range(after + 1, end + 1), *told)
    return events if are_intact(events, checksums) else None


def next_chunk(read: EventColumns) -> int:
    """How many events to read on with, after these."""
    each = sum(map(len, read.payload)) / len(read.payload)
    return max(1, min(LONGEST_CHUNK, int(CHUNK_BYTES / max(each, 1.0))))


def _up_to_damage(connection: Sender, stream_id: int, after: int, end: int) -> Iterator[EventColumns]:
    """One by one, to the error that names the first of these that is damaged, or missing."""
    rows = _EVENTS_BETWEEN.all(connection, (stream_id, after, end))
    if not rows:
        raise _missing(after + 1)
    for row in rows:
        event = checked(row)
        if event.seq != after + 1:
            raise _missing(after + 1)
        after = event.seq
        yield EventColumns._make((value,) for value in event)


def _missing(seq: int) -> Damaged:
    return Damaged(
        f"Event {seq} is missing from the log, which has later ones. "
        "The stream can be read up to there; `repair` marks the gap.",
        seq=seq,
    )


def read_tickets(connection: Sender, stream_id: int, rounds: Iterable[int]) -> dict[int, TicketRow]:
    """The tickets of these rounds, those that exist."""
    return by_round(TICKETS.rows(connection, stream_id, list(rounds)))


def current(connection: Sender, stream_ids: Sequence[int]) -> list[StreamRow]:
    """Where these streams stand in this transaction, in this order."""
    rows = {row.id: row for row in map(StreamRow._make, all_rows(_STREAMS.sent(connection, (), stream_ids)))}
    return [rows[stream_id] for stream_id in stream_ids]


def all_rows(cursors: Iterable[DBAPICursor]) -> Iterator[Row]:
    return (row for cursor in cursors for row in cursor.fetchall())


def by_name(rows: Iterable[Row]) -> dict[str, EventRow]:
    return {event.event_id: event for event in map(checked, rows) if event.event_id is not None}


def by_round(rows: Iterable[Iterable[object]]) -> dict[int, TicketRow]:
    return {ticket.round: ticket for ticket in map(ticket_of, rows)}


def ticket_of(row: Iterable[object]) -> TicketRow:
    """The ticket of a fetched row; SQLite keeps its only truth value as a number."""
    *columns, swapped, wanted, votes = row
    return TicketRow._make((*columns, bool(swapped), wanted, votes))


def newest_snapshot(
    connection: Connection, stream_id: int, *, upto: int, format: int, arithmetic: int
) -> SnapshotRow | None:
    """The newest intact one of a state no later than `upto`, of this layout and arithmetic."""
    table = schema.snapshots.c
    query = (
        sa.select(table.seq, table.payload, table.checksum)
        .where(table.stream_id == stream_id, table.seq <= upto)
        .where(table.format == format, table.arithmetic == arithmetic)
        .order_by(table.seq.desc())
    )
    for seq, payload, checksum in connection.execute(query):
        snapshot = SnapshotRow(seq, payload, format, arithmetic)
        if snapshot_checksum(snapshot) == checksum:
            return snapshot
    return None
