"""The store: streams by name, their logs, tickets and snapshots, in one database."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from duelwise.errors import StorageFailure, UnknownStream
from duelwise.storage import integrity, schema
from duelwise.storage.database import (
    STATEMENT_SECONDS,
    empty_write_ahead_file,
    is_lock_timeout,
    open_engine,
    unhurried,
)
from duelwise.storage.keys import Keys
from duelwise.storage.reading import (
    NAMED_EVENTS,
    READ_CHUNK,
    STREAM_COLUMNS,
    by_name,
    current,
    newest_snapshot,
    next_chunk,
    read_columns,
    read_tickets,
)
from duelwise.storage.repairing import Repairer, Scanner, SourceEraser
from duelwise.storage.rows import (
    OPEN_STATES,
    EventColumns,
    EventRow,
    SnapshotRow,
    StreamRow,
    TicketRow,
)
from duelwise.storage.servers import Servers
from duelwise.storage.sqlite_connection import SqliteConnection
from duelwise.storage.stalled_sessions import ending_stopped_holders
from duelwise.storage.writer import LOCKED_STREAM, Writer, locked, write_snapshot

if TYPE_CHECKING:  # its driver is not needed for SQLite
    from duelwise.storage.postgres_pipeline import PostgresPipeline

SNAPSHOTS_KEPT = 3  # the newest is used; older ones in case it is damaged


def open_store(url: str, *, statement_seconds: float = STATEMENT_SECONDS) -> Store:
    """The store at `sqlite:///file.db` or `postgresql://user@host/name`, migrated.

    No statement takes longer than `statement_seconds`: a frozen database is an error, not a wait.
    """
    return Store(open_engine(url, statement_seconds=statement_seconds))


class Store:
    """Reads take no lock and see a prefix of each log; `writing` locks one stream."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.keys = Keys(self._reading, self._changing)
        self._sqlite_connection: SqliteConnection | None = None  # see `sqlite_connection`
        self._pipeline: PostgresPipeline | None = None  # see begin_pipeline
        self.servers = Servers(self._reading, self._changing)

    @property
    def url(self) -> str:
        """The address, without its password."""
        return self._engine.url.render_as_string()

    def close(self) -> None:
        if self._sqlite_connection is not None:
            self._sqlite_connection.close()
            self._sqlite_connection = None
        if self._pipeline is not None:
            self._pipeline.close()
            self._pipeline = None
        self._engine.dispose()

    # -- streams ------------------------------------------------------------------------

    def create_stream(self, *, name: str, uid: str, settings: str, at: float) -> tuple[StreamRow, bool]:
        """The stream of this name and whether it is new; an existing one is left as it is."""
        values = {"name": name, "uid": uid, "settings": settings, "created_at": at}
        try:
            with self._changing() as connection:
                connection.execute(
                    sa.insert(schema.streams), values | {"head": 0, "rounds": 0, "generation": 0}
                )
        except IntegrityError:
            return self.stream(name), False
        return self.stream(name), True

    def discard_empty(self, stream_id: int) -> None:
        """Take back a stream in which nothing was recorded."""
        table = schema.streams
        with self._changing() as connection:
            connection.execute(sa.delete(table).where(table.c.id == stream_id, table.c.head == 0))

    def streams(self) -> list[StreamRow]:
        with self._reading() as connection:
            rows = connection.execute(sa.select(*STREAM_COLUMNS).order_by(schema.streams.c.name))
            return [StreamRow._make(row) for row in rows]

    def stream(self, name: str) -> StreamRow:
        query = sa.select(*STREAM_COLUMNS).where(schema.streams.c.name == name)
        if name.isprintable():  # no database takes a zero byte or half a character
            with self._reading() as connection:
                row = connection.execute(query).first()
            if row is not None:
                return StreamRow._make(row)
        near = difflib.get_close_matches(name, [stream.name for stream in self.streams()], n=1, cutoff=0.4)
        hint = f" Did you mean {near[0]!r}?" if near else " Create it first."
        raise UnknownStream(f"There is no stream called {name!r}.{hint}")

    def __contains__(self, name: str) -> bool:
        query = sa.select(schema.streams.c.id).where(schema.streams.c.name == name)
        if not name.isprintable():
            return False
        with self._reading() as connection:
            return connection.execute(query).first() is not None

    def count(self) -> int:
        """How many streams there are."""
        with self._reading() as connection:
            return connection.execute(sa.select(sa.func.count()).select_from(schema.streams)).scalar_one()

    def pending(self) -> dict[int, tuple[int, float]]:
        """By stream: how many tickets are open, and when the oldest of them was asked."""
        table = schema.tickets.c
        query = (
            sa.select(table.stream_id, sa.func.count(), sa.func.min(table.asked_at))
            .where(table.state.in_([sa.literal_column(f"'{state}'") for state in OPEN_STATES]))
            .group_by(table.stream_id)
        )
        with self._reading() as connection:
            return {stream: (count, oldest) for stream, count, oldest in connection.execute(query)}

    def last_event(self, stream_id: int) -> int:
        """The highest number in the log, whatever the stream's row says."""
        query = sa.select(sa.func.max(schema.events.c.seq)).where(schema.events.c.stream_id == stream_id)
        with self._reading() as connection:
            return connection.execute(query).scalar() or 0

    def current(self, stream_id: int) -> StreamRow:
        """The stream's row as it is now."""
        with self._reading() as connection:
            return current(connection, [stream_id])[0]

    def mark_damaged(self, stream_id: int, seq: int) -> None:
        """Remember the first damaged event, so that every process refuses to write."""
        table = schema.streams.c
        earlier = sa.or_(table.damaged.is_(None), table.damaged > seq)
        with self._changing() as connection:
            connection.execute(
                sa.update(schema.streams).where(table.id == stream_id, earlier).values(damaged=seq)
            )

    # -- the log ------------------------------------------------------------------------

    @contextmanager
    def writing(self, stream_id: int, rounds: Collection[int] = ()) -> Generator[Writer]:
        """One transaction with the stream locked; committed when the block ends well.

        Tickets of these rounds are fetched on the way.
        """
        with told_plainly(), self._engine.connect().execution_options(writes=True) as connection:
            with ending_stopped_holders(connection):
                writer = locked(connection, stream_id, rounds)
            yield writer
            writer.commit()

    def writers(self, connection: SqliteConnection, stream_ids: Sequence[int]) -> list[Writer]:
        """A writer on each of these streams, as they stand now."""
        return [Writer(connection, row) for row in current(connection, stream_ids)]

    @property
    def has_one_writer(self) -> bool:
        """Whether all streams share one lock: a SQLite file has one writer at a time."""
        return self._engine.dialect.name == "sqlite"

    def sqlite_connection(self) -> SqliteConnection:
        """The one connection to a SQLite file for transactions that must not wait."""
        if self._sqlite_connection is None:
            with told_plainly():
                self._sqlite_connection = SqliteConnection(self._engine)
        return self._sqlite_connection

    def open_pipeline(self) -> None:
        """Connect for `begin_pipeline`, unless that is done; this may take a while."""
        from duelwise.storage.postgres_pipeline import PostgresPipeline

        with told_plainly():
            if self._pipeline is not None and self._pipeline.is_lost:
                self._pipeline.close()
                self._pipeline = None
            if self._pipeline is None:
                self._pipeline = PostgresPipeline(self._engine)

    def begin_pipeline(self) -> PostgresPipeline | None:
        """A transaction on PostgreSQL whose answers the caller waits for; None when that is not possible now.

        There is one connection for this: it is the caller's until it has committed or rolled back.
        """
        with told_plainly():
            return self._pipeline if self._pipeline is not None and self._pipeline.begin() else None

    @contextmanager
    def repairing(self, stream_id: int) -> Generator[Repairer]:
        """One transaction with the stream locked, in which its log may be rewritten."""
        with self._changing() as connection:
            row = LOCKED_STREAM.one(connection, (stream_id,))
            unhurried(connection)
            yield Repairer(connection, StreamRow._make(row))

    @contextmanager
    def erasing(self, stream_id: int) -> Generator[SourceEraser]:
        """One transaction with the stream locked, in which a source's name may be written over."""
        with self._changing() as connection:
            row = LOCKED_STREAM.one(connection, (stream_id,))
            unhurried(connection)
            yield SourceEraser(connection, StreamRow._make(row))
        if self._engine.dialect.name == "sqlite":
            empty_write_ahead_file(self._engine)  # it holds the old pages too

    @contextmanager
    def scanning(self, stream_id: int) -> Generator[Scanner]:
        """One moment of a stream, while others go on writing."""
        level = {"isolation_level": "REPEATABLE READ"} if self._engine.dialect.name == "postgresql" else {}
        with told_plainly(), self._engine.connect().execution_options(**level) as connection:
            unhurried(connection)
            yield Scanner(connection, current(connection, [stream_id])[0])

    def check(self) -> list[str]:
        """What the database's own check finds wrong with it."""
        with told_plainly(), self._engine.connect() as connection:
            return integrity.problems(connection)

    def reindex(self) -> None:
        """Make every index anew."""
        with told_plainly(), self._engine.connect() as connection:
            integrity.reindex(connection)

    def events(self, stream_id: int, *, after: int, upto: int) -> Iterator[EventRow]:
        """Events after < seq ≤ upto in order, checked; read in chunks, so a long log fits."""
        for columns in self.event_columns(stream_id, after=after, upto=upto):
            yield from map(EventRow, *columns)

    def event_columns(self, stream_id: int, *, after: int, upto: int) -> Iterator[EventColumns]:
        """The same, column by column of each chunk."""
        count = READ_CHUNK
        while after < upto:
            with self._reading() as connection:
                end = min(upto, after + count)
                read = list(read_columns(connection, stream_id, after=after, upto=end, chunk=count))
            yield from read
            after, count = read[-1].seq[-1], next_chunk(read[-1])

    def events_of(self, stream_id: int, kinds: Collection[str], *, upto: int) -> list[EventRow]:
        """The events of these kinds, in order; those of uncommon kinds have an index."""
        place, held = schema.events.name, {column.name: column.type for column in schema.events.c}
        uncommon = not set(kinds) & set(schema.COMMON_KINDS)
        if uncommon and self._engine.dialect.name == "sqlite":  # which knows not how few these are
            place = f"{place} INDEXED BY {schema.UNCOMMON_EVENTS.name}"
        query = (
            sa.select(*[sa.column(name, held[name]) for name in EventRow._fields])
            .select_from(sa.text(place))
            .where(
                sa.column("stream_id") == stream_id,
                sa.column("seq") <= upto,
                sa.column("kind").in_(kinds),
                schema.UNCOMMON if uncommon else sa.true(),
            )
            .order_by(sa.column("seq"))
        )
        with self._reading() as connection:
            return [EventRow._make(row) for row in connection.execute(query)]

    def tickets(self, stream_id: int, rounds: Iterable[int]) -> dict[int, TicketRow]:
        with self._reading() as connection:
            return read_tickets(connection, stream_id, rounds)

    def named(self, stream_id: int, event_ids: Sequence[str]) -> dict[str, EventRow]:
        """The events that carry these ids, those that exist."""
        with self._reading() as connection:
            return by_name(NAMED_EVENTS.rows(connection, stream_id, event_ids))

    # -- snapshots ----------------------------------------------------------------------

    def add_snapshot(self, stream_id: int, snapshot: SnapshotRow, *, generation: int) -> None:
        """Keep a state to restart from, and drop all but the newest few.

        A state of another generation is history that a repair has rewritten: it is not kept.
        """
        table = schema.snapshots
        with self._changing() as connection:
            row = LOCKED_STREAM.one(connection, (stream_id,))
            if StreamRow._make(row).generation != generation:
                return
            write_snapshot(connection, stream_id, snapshot)
            kept = (
                sa.select(table.c.seq)
                .where(table.c.stream_id == stream_id)
                .order_by(table.c.seq.desc())
                .limit(SNAPSHOTS_KEPT)
            )
            oldest = min(connection.execute(kept).scalars())
            connection.execute(sa.delete(table).where(table.c.stream_id == stream_id, table.c.seq < oldest))

    def snapshot(self, stream_id: int, *, upto: int, format: int, arithmetic: int) -> SnapshotRow | None:
        """The newest intact snapshot of a state no later than `upto`, of this layout and arithmetic."""
        with self._reading() as connection:
            return newest_snapshot(connection, stream_id, upto=upto, format=format, arithmetic=arithmetic)

    # -- transactions -------------------------------------------------------------------

    @contextmanager
    def _reading(self) -> Generator[Connection]:
        with told_plainly(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def _changing(self) -> Generator[Connection]:
        with told_plainly(), self._engine.connect().execution_options(writes=True) as connection:
            yield connection
            connection.commit()


@contextmanager
def told_plainly() -> Generator[None]:
    """Database errors in our words; a broken rule stays what it is, for the caller to judge."""
    try:
        yield
    except IntegrityError:
        raise
    except SQLAlchemyError as error:
        what = str(error.args[0]) if error.args else str(error)
        why = " Another process holds the lock and did not finish in time." if is_lock_timeout(what) else ""
        raise StorageFailure(
            f"The database failed: {what.strip()}.{why} Nothing of this request was "
            "acknowledged. Look at the disk and the server, then send it again: votes and contexts may be "
            "repeated, and asks that carry an event_id."
        ) from error
