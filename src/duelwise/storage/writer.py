"""One transaction on one stream: look at tickets, append events, all or nothing."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from duelwise.storage import schema
from duelwise.storage.compiled_statements import (
    CompiledStatement,
    ForEach,
    ManyRows,
    Sender,
    pipelined,
    roll_back,
)
from duelwise.storage.reading import (
    NAMED_EVENTS,
    STREAM_COLUMNS,
    TICKET_COLUMNS,
    TICKETS,
    all_rows,
    by_name,
    by_round,
    read_events,
    read_tickets,
    ticket_of,
)
from duelwise.storage.rows import (
    BEGINNING,
    NO_ROUND,
    OPEN_STATES,
    EventRow,
    SnapshotRow,
    StreamRow,
    TicketPlace,
    TicketRow,
    event_checksum,
    snapshot_checksum,
)
from duelwise.storage.sqlite_connection import Row

_stream_id: sa.BindParameter[int] = sa.bindparam("of_stream")
_stream = sa.select(*STREAM_COLUMNS).where(schema.streams.c.id == _stream_id)
LOCKED_STREAM = CompiledStatement(_stream.with_for_update(), ["of_stream"])
STREAM_LOCKED_AT_ONCE = CompiledStatement(_stream.with_for_update(nowait=True), ["of_stream"])


def _is_in(states: Sequence[str]) -> sa.ColumnElement[bool]:
    return schema.tickets.c.state.in_([sa.literal_column(f"'{state}'") for state in states])


_place = sa.tuple_(
    sa.bindparam("after", type_=sa.Double()), sa.bindparam("round_after", type_=sa.BigInteger())
)


def _asked_before(states: Sequence[str]) -> CompiledStatement:
    """Open tickets in these states, oldest first."""
    return CompiledStatement(
        sa.select(*TICKET_COLUMNS)
        .where(
            schema.tickets.c.stream_id == _stream_id,
            schema.tickets.c.asked_at < sa.bindparam("asked_before"),
            sa.tuple_(schema.tickets.c.asked_at, schema.tickets.c.round) > _place,
            # In the words of the partial index, not bound: only then do both planners use it.
            _is_in(OPEN_STATES),
            _is_in(states),
        )
        .order_by(schema.tickets.c.asked_at, schema.tickets.c.round)
        .suffix_with(sa.text("LIMIT :most")),
        ["of_stream", "asked_before", "after", "round_after", "most"],
    )


_WITH_VOTES = (*OPEN_STATES, "told")  # the votes of other tickets count no more
_OVERDUE, _VOTED = _asked_before(OPEN_STATES), _asked_before(["voted"])
_AS_TEXT = str.maketrans({"%": "\\%", "_": "\\_", "\\": "\\\\"})  # what LIKE would read otherwise
_FROM_SOURCE = CompiledStatement(
    sa.select(*TICKET_COLUMNS)
    .where(
        schema.tickets.c.stream_id == _stream_id,
        schema.tickets.c.round > sa.bindparam("after"),
        _is_in(_WITH_VOTES),
        sa.or_(
            schema.tickets.c.source == sa.bindparam("of_source"),
            schema.tickets.c.votes.like(sa.bindparam("among"), escape="\\"),
        ),
    )
    .order_by(schema.tickets.c.round)
    .suffix_with(sa.text("LIMIT :most")),
    ["of_stream", "after", "of_source", "among", "most"],
)


def _moved_on(values: Mapping[str, sa.ColumnElement[Any]]) -> sa.Update:
    """Where the stream does not stand as it did, head would become null: an error, so nothing is recorded."""
    stream = schema.streams.c
    stands = sa.and_(
        stream.head == values["old_head"],
        stream.generation == values["old_generation"],
        stream.damaged.is_not_distinct_from(values["old_damaged"]),
    )
    head = sa.case((stands, values["new_head"]))
    return (
        sa.update(schema.streams)
        .where(stream.id == values["of_stream"])
        .values(head=head, rounds=values["new_rounds"])
    )


MOVE_ON = ForEach(
    _moved_on,
    {
        "old_head": sa.BigInteger(), "old_generation": sa.Integer(), "old_damaged": sa.BigInteger(),
        "new_head": sa.BigInteger(), "new_rounds": sa.BigInteger(), "of_stream": sa.Integer(),
    },
)  # fmt: skip
_INSERT_EVENTS, _INSERT_TICKETS = ManyRows(schema.events), ManyRows(schema.tickets)
_REPLACE_TICKETS = ManyRows(schema.tickets, replace=True)


class Locking:
    """A stream's row is asked for, to be locked from then on, with the tickets and events of some names.

    With `at_once`, it is an error when another process has the lock.
    """

    def __init__(
        self, connection: Sender, stream_id: int, rounds: Collection[int] = (),
        names: Collection[str] = (), *, at_once: bool = False,
    ) -> None:  # fmt: skip
        self._connection, self._rounds, self._names = connection, rounds, names
        lock = STREAM_LOCKED_AT_ONCE if at_once else LOCKED_STREAM
        self._row = lock.sent(connection, (stream_id,))
        self._tickets = TICKETS.sent(connection, stream_id, list(rounds))
        self._events = NAMED_EVENTS.sent(connection, stream_id, list(names))

    def writer(self) -> Writer:
        """Once the answers are here."""
        writer = Writer(self._connection, StreamRow._make(self._row.fetchall()[0]))
        writer.fetched(
            self._rounds, by_round(all_rows(self._tickets)), self._names, by_name(all_rows(self._events))
        )  # fmt: skip
        return writer


def locked(connection: Sender, stream_id: int, rounds: Collection[int] = ()) -> Writer:
    """A writer on a stream, whose row is locked from here on; tickets of these rounds are fetched with it."""
    with pipelined(connection):
        locking = Locking(connection, stream_id, rounds)
    return locking.writer()


class Writer:
    """What a transaction has seen and will append; `flush` sends it to the database.

    The stream's row is locked, so numbers are given in commit order: no reader
    sees event n + 1 before event n.
    """

    def __init__(self, connection: Sender, stream: StreamRow) -> None:
        self.connection = connection
        self.stream = stream
        self.head = stream.head
        self.rounds = stream.rounds
        self.events_to_send: list[EventRow] = []
        self.tickets_to_send: dict[int, TicketRow] = {}
        self._sent = False
        # Rounds and names whose tickets and events, where they exist, are here:
        self._rounds: frozenset[int] = frozenset()
        self._names: frozenset[str] = frozenset()
        self._found: dict[int, TicketRow] = {}
        self._named: dict[str, EventRow] = {}

    def fetched(
        self, rounds: Iterable[int], tickets: dict[int, TicketRow],
        names: Iterable[str], events: dict[str, EventRow],
    ) -> None:  # fmt: skip
        """What was read when the stream was locked."""
        self._rounds, self._found = frozenset(rounds), tickets
        self._names, self._named = frozenset(names), events

    def events(self, *, after: int, upto: int) -> Iterator[EventRow]:
        return read_events(self.connection, self.stream.id, after=after, upto=upto)

    def event(self, seq: int) -> EventRow:
        """One event, recorded or about to be."""
        if seq > self.stream.head:
            return self.events_to_send[seq - self.stream.head - 1]
        return next(self.events(after=seq - 1, upto=seq))

    def tickets(self, rounds: Collection[int]) -> dict[int, TicketRow]:
        """As they were when the transaction began."""
        if self._rounds.issuperset(rounds):
            return {round: self._found[round] for round in rounds if round in self._found}
        return read_tickets(self.connection, self.stream.id, rounds)

    def named(self, event_ids: Collection[str]) -> dict[str, EventRow]:
        """The events that carry these ids, those that exist."""
        if self._names.issuperset(event_ids):
            return {name: self._named[name] for name in event_ids if name in self._named}
        return by_name(NAMED_EVENTS.rows(self.connection, self.stream.id, list(event_ids)))

    def overdue(self, *, asked_before: float, after: TicketPlace = BEGINNING, limit: int) -> list[TicketRow]:
        """Open tickets asked before a moment, oldest first, those after a place."""
        return self._aged(_OVERDUE, asked_before, after, limit)

    def without_context(
        self, *, asked_before: float, after: TicketPlace = BEGINNING, limit: int
    ) -> list[TicketRow]:
        """The same of tickets that have their votes and lack their context."""
        return self._aged(_VOTED, asked_before, after, limit)

    def _aged(
        self, which: CompiledStatement, asked_before: float, after: TicketPlace, limit: int
    ) -> list[TicketRow]:
        return list(map(ticket_of, which.all(self.connection, (self.stream.id, asked_before, *after, limit))))

    def from_source(self, source: str, *, after: int, limit: int) -> list[TicketRow]:
        """Tickets with a vote of this source that counts and a round after the given one, in order."""
        among = "%" + json.dumps(source).translate(_AS_TEXT) + "%"
        rows = _FROM_SOURCE.all(self.connection, (self.stream.id, after, source, among, limit))
        return list(map(ticket_of, rows))

    def append(
        self, kind: str, payload: bytes, *, at: float, round: int = NO_ROUND, event_id: str | None = None
    ) -> int:
        """Take the next number for an event."""
        self.head += 1
        self.events_to_send.append(EventRow(self.head, kind, round, event_id, at, payload))
        return self.head

    def next_round(self) -> int:
        """Take the next round for a duel."""
        self.rounds += 1
        return self.rounds - 1

    def put(self, ticket: TicketRow) -> None:
        """The new state of a ticket."""
        self.tickets_to_send[ticket.round] = ticket

    def put_snapshot(self, snapshot: SnapshotRow) -> None:
        """A state to restart from, beside the events of this transaction."""
        assert isinstance(self.connection, Connection)  # nobody waits for it between two requests
        write_snapshot(self.connection, self.stream.id, snapshot)

    def flush(self) -> bool:
        """Send all that was appended; False when this transaction has nothing to commit."""
        flush_all([self])
        return self._sent

    def commit(self) -> None:
        """Send all that was appended and make it durable, without a wait between."""
        assert isinstance(self.connection, Connection)
        if self.events_to_send:
            try:
                with pipelined(self.connection):
                    _send_all([self])
                    self.connection.commit()
            except BaseException:
                roll_back(self.connection)
                raise
        elif self._sent:
            self.connection.commit()

    def sent(self) -> None:
        """What was appended is on its way."""
        self.stream = self.stream._replace(head=self.head, rounds=self.rounds)
        self.events_to_send, self.tickets_to_send, self._sent = [], {}, True


def flush_all(writers: Sequence[Writer]) -> None:
    """Send what several streams have appended in one transaction."""
    some = [writer for writer in writers if writer.events_to_send]
    if some:
        with pipelined(some[0].connection):
            _send_all(some)
        for writer in some:
            writer.sent()


def _send_all(writers: Sequence[Writer]) -> None:
    connection = writers[0].connection
    events: list[Row] = []
    new: list[Row] = []
    moved: list[Row] = []
    for writer in writers:
        id, first = writer.stream.id, writer.stream.rounds  # tickets of later rounds are new
        events += [(id, *event, event_checksum(event)) for event in writer.events_to_send]
        for ticket in writer.tickets_to_send.values():
            (new if ticket.round >= first else moved).append((id, *ticket))
    rows = [(writer.stream, writer) for writer in writers]
    MOVE_ON.execute(  # first, since it takes the streams' locks
        connection,
        [(row.head, row.generation, row.damaged, to.head, to.rounds, row.id) for row, to in rows],
    )
    _INSERT_EVENTS.execute(connection, events)
    _INSERT_TICKETS.execute(connection, new)
    _REPLACE_TICKETS.execute(connection, moved)


def write_snapshot(connection: Connection, stream_id: int, snapshot: SnapshotRow) -> None:
    """Replace what may be there: a state after the same event is the same state."""
    table = schema.snapshots
    connection.execute(sa.delete(table).where(table.c.stream_id == stream_id, table.c.seq == snapshot.seq))
    connection.execute(
        sa.insert(table),
        snapshot._asdict() | {"stream_id": stream_id, "checksum": snapshot_checksum(snapshot)},
    )
