"""Core statements that are compiled once: what a transaction sends again and again.

They go straight to the driver's cursor. Core would look up, check and convert every value of
every row and describe every result, which takes longer than the database does; these values
have the columns' types already.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any, Union, cast

import sqlalchemy as sa
from sqlalchemy import ClauseElement
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.engine.interfaces import DBAPICursor
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.compiler import SQLCompiler

from duelwise.storage.postgres_arrays import Kind, bound_in, by_columns, each_of, written
from duelwise.storage.sqlite_connection import Row, SqliteConnection

if TYPE_CHECKING:  # its driver is not needed for SQLite
    from duelwise.storage.postgres_pipeline import PostgresPipeline

Sender = Union[Connection, SqliteConnection, "PostgresPipeline"]
"""What a statement can be sent by."""
Columns = Sequence[sa.Column[Any]]
Kinds = Mapping[str, Kind]
"""Types of values, by name, in their order."""

MOST_ROWS = 256  # of one statement; databases limit its values to some 32,000
FEW_ROWS = 64  # up to so many each number has a text of its own, which the driver keeps prepared


class CompiledStatement:
    """A statement whose text goes to the driver as it is, with values in the order of `names`."""

    def __init__(self, statement: ClauseElement, names: Sequence[str]) -> None:
        self._statement, self._names = statement, names
        self._texts: dict[str, str] = {}  # by dialect

    def execute(self, connection: Sender, row: Row) -> None:
        _send(connection, self._text(connection), row)

    def sent(self, connection: Sender, row: Row) -> DBAPICursor:
        """The cursor, whose rows can be fetched when it has them: after `pipelined`, or at once."""
        return _send(connection, self._text(connection), row)

    def all(self, connection: Sender, row: Row) -> Sequence[Row]:
        """Every row of the result."""
        return self.sent(connection, row).fetchall()

    def one(self, connection: Sender, row: Row) -> Row:
        """The only row of the result."""
        (found,) = self.all(connection, row)
        return found

    def _text(self, connection: Sender) -> str:
        dialect = connection.dialect.name
        if dialect not in self._texts:
            self._texts[dialect] = _numbered(_compiled(self._statement, self._names, connection))
        return self._texts[dialect]


class ForEach:
    """A statement for each of many rows, whose values have the order of `kinds`."""

    def __init__(
        self, statement: Callable[[Mapping[str, sa.ColumnElement[Any]]], ClauseElement], kinds: Kinds
    ) -> None:
        single = {name: sa.bindparam(name, type_=kind) for name, kind in kinds.items()}
        self._single = CompiledStatement(statement(single), list(kinds))
        self._all = CompiledStatement(statement(dict(each_of(kinds).c.items())), bound_in(kinds))
        self._kinds = kinds

    def execute(self, connection: Sender, rows: Sequence[Row]) -> None:
        if _takes_arrays(connection):
            self._all.execute(connection, by_columns(self._kinds, rows))
        else:
            for row in rows:
                self._single.execute(connection, row)


class ByKeys:
    """The rows of one stream that have one of many keys; `key` is a column, unique within a stream."""

    def __init__(self, columns: Columns, stream: sa.Column[int], key: sa.Column[Any]) -> None:
        self._columns, self._stream, self._key = columns, stream, key
        self._in_postgresql = CompiledStatement(self._one_by_one(), ["keys", "of_stream"])
        self._in_sqlite = OneOf(columns, key, stream)

    def rows(self, connection: Sender, stream_id: int, keys: Sequence[object]) -> list[Row]:
        """Every row of the result."""
        return [one for cursor in self.sent(connection, stream_id, keys) for one in cursor.fetchall()]

    def sent(self, connection: Sender, stream_id: int, keys: Sequence[object]) -> list[DBAPICursor]:
        """The cursors, whose rows can be fetched when they have them: after `pipelined`, or at once."""
        if not keys:
            return []
        if connection.dialect.name == "postgresql":
            array = written(self._key.type, keys) if _takes_arrays(connection) else list(keys)
            return [self._in_postgresql.sent(connection, (array, stream_id))]
        return self._in_sqlite.sent(connection, (stream_id,), keys)

    def _one_by_one(self) -> ClauseElement:
        """Each key by itself, in the index: of many at once, a planner that met the table when it was
        empty would rather look at the whole stream."""
        keys = sa.bindparam("keys", type_=postgresql.ARRAY(self._key.type))
        each = sa.func.unnest(keys).table_valued("key").render_derived(name="each")
        own = sa.select(*self._columns).where(
            self._stream == sa.bindparam("of_stream"), self._key == each.c.key
        )
        found = own.limit(sa.literal_column("1", sa.Integer)).lateral("found")
        return sa.select(found).select_from(sa.join(each, found, sa.true()))


class OneOf:
    """The rows that have one of many keys, and the same value in another column if one is named."""

    def __init__(self, columns: Columns, key: sa.Column[Any], of: sa.Column[Any] | None = None) -> None:
        statement = sa.select(*columns)
        if of is not None:
            statement = statement.where(of == sa.bindparam("of"))
        self._statement = statement.where(key.in_([sa.bindparam("key")]))
        self._names = ["key"] if of is None else ["of", "key"]
        self._texts: dict[tuple[str, int], str] = {}  # by dialect and number of keys

    def sent(self, connection: Sender, row: Row, keys: Sequence[object]) -> list[DBAPICursor]:
        cursors: list[DBAPICursor] = []
        for start in range(0, len(keys), MOST_ROWS):
            some = tuple(keys[start : start + MOST_ROWS])
            # Powers of two, as below: the last key stands in for those that are missing.
            count = 1 << (len(some) - 1).bit_length()
            values = (*row, *some, *(some[-1:] * (count - len(some))))
            cursors.append(_send(connection, self._text(connection, count), values))
        return cursors

    def _text(self, connection: Sender, count: int) -> str:
        key = connection.dialect.name, count
        if key not in self._texts:
            text = _compiled(self._statement, self._names, connection)
            head, mark, tail = text.rpartition("?" if key[0] == "sqlite" else "%s")
            self._texts[key] = _numbered(f"{head}{', '.join([mark] * count)}{tail}")
        return self._texts[key]


class ManyRows:
    """An insert of many rows with one statement, whose values have the order of the table's columns.

    One statement for each row would give other threads the interpreter after each, and wait
    to get it back: with a busy server beside it, that is most of a transaction's time.
    With `replace`, rows that are there already are overwritten.
    """

    def __init__(self, table: sa.Table, *, replace: bool = False) -> None:
        self._table, self._replace = table, replace
        self._texts: dict[tuple[str, int], str] = {}  # by dialect and number of rows
        self._kinds: Kinds = {column.name: column.type for column in table.columns}
        arrays = postgresql.insert(table).from_select(list(self._kinds), sa.select(each_of(self._kinds)))
        self._all = CompiledStatement(self._replacing(arrays) if replace else arrays, bound_in(self._kinds))

    def execute(self, connection: Sender, rows: Sequence[Row]) -> None:
        if not rows:
            return
        if _takes_arrays(connection):
            self._all.execute(connection, by_columns(self._kinds, rows))
            return
        start = 0
        while start < len(rows):
            count = len(rows) - start
            if count > FEW_ROWS or isinstance(connection, Connection):  # powers of two: few texts
                count = min(MOST_ROWS, 1 << (count.bit_length() - 1))
            values = tuple(chain.from_iterable(rows[start : start + count]))
            _send(connection, self._text(connection, count), values)
            start += count

    def _text(self, connection: Sender, count: int) -> str:
        key = connection.dialect.name, count
        if key not in self._texts:
            names = [column.name for column in self._table.columns]
            text = _compiled(self._statement(connection.dialect.name), names, connection)
            start = text.index("VALUES (") + len("VALUES ")
            end = text.index(")", start) + 1
            self._texts[key] = _numbered(text[:start] + ", ".join([text[start:end]] * count) + text[end:])
        return self._texts[key]

    def _statement(self, dialect: str) -> ClauseElement:
        if not self._replace:
            return sa.insert(self._table)
        return self._replacing((sqlite.insert if dialect == "sqlite" else postgresql.insert)(self._table))

    def _replacing(self, insert: sqlite.Insert | postgresql.Insert) -> ClauseElement:
        key = [column.name for column in self._table.primary_key]
        others = {name: value for name, value in insert.excluded.items() if name not in key}
        return insert.on_conflict_do_update(index_elements=key, set_=others)


def _takes_arrays(connection: Sender) -> bool:
    """PostgreSQL does, from who sends bytes as they are."""
    return not isinstance(connection, Connection | SqliteConnection)


def _send(connection: Sender, text: str, values: Row) -> DBAPICursor:
    """The driver's cursor after the statement; its errors are those that Core would raise."""
    if not isinstance(connection, Connection):
        return cast("DBAPICursor", connection.send(text, values))
    if not connection.in_transaction():
        connection.begin()
    cursor = _cursor(connection)
    with _as_core_says(connection, text):
        cursor.execute(text, values)
    return cursor


def _cursor(connection: Connection) -> DBAPICursor:
    if connection.dialect.name != "postgresql":
        return connection.connection.cursor()
    from psycopg import RawCursor  # takes the text as it is; the usual one would parse it every time

    return cast("DBAPICursor", RawCursor(cast("Any", connection.connection.dbapi_connection)))


def _numbered(text: str) -> str:
    """The text with its marks as PostgreSQL itself writes them: $1, $2, …"""
    numbers = itertools.count(1)
    return re.sub("%s", lambda _: f"${next(numbers)}", text)


@contextmanager
def pipelined(connection: Sender) -> Generator[None]:
    """Send the statements of this block without waiting for each one's result, where the driver can."""
    held: Any = connection.connection.dbapi_connection if isinstance(connection, Connection) else None
    if not hasattr(held, "pipeline"):
        yield
        return
    assert isinstance(connection, Connection)
    with _as_core_says(connection, "one of several statements"), held.pipeline():
        yield


def roll_back(connection: Connection) -> None:
    """End a transaction whose commit failed in a pipeline.

    Core takes one whose commit has failed for ended, and would give the connection to the next
    one as it is. In a pipeline the server has not even looked at the commit.
    """
    held = connection.connection.dbapi_connection if not connection.invalidated else None
    if held is None:
        return
    try:
        held.rollback()
    except cast("Any", connection.dialect.dbapi).Error:
        connection.invalidate()


@contextmanager
def _as_core_says(connection: Connection, text: str) -> Generator[None]:
    """The driver's errors as Core would raise them."""
    driver = cast("Any", connection.dialect.dbapi)
    try:
        yield
    except driver.Error as error:
        if connection.dialect.is_disconnect(error, connection.connection.dbapi_connection, None):
            connection.invalidate(error)
        raise DBAPIError.instance(
            text, None, error, driver.Error, hide_parameters=True, dialect=connection.dialect
        ) from error


def _compiled(statement: ClauseElement, names: Sequence[str], connection: Sender) -> str:
    style = "qmark" if connection.dialect.name == "sqlite" else "format"
    dialect = cast("type[DefaultDialect]", type(connection.dialect))(paramstyle=style)
    compiled = cast("SQLCompiler", statement.compile(dialect=dialect))
    assert compiled.positiontup == list(names), "the values' order must be the statement's"
    return compiled.string
