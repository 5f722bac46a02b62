"""Core statements that are compiled once: what a transaction sends again and again.

They go straight to the driver's cursor. Core would look up, check and convert every value of
every row and describe every result, which takes longer than the database does; these values
have the columns' types already.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy import ClauseElement
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.engine.interfaces import DBAPICursor
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.compiler import SQLCompiler

Row = tuple[object, ...]
MOST_ROWS = 256  # of one statement; databases limit its values to some 32,000


class Prepared:
    """A statement whose text goes to the driver as it is, with values in the order of `names`."""

    def __init__(self, statement: ClauseElement, names: Sequence[str]) -> None:
        self._statement, self._names = statement, names
        self._texts: dict[str, str] = {}  # by dialect

    def execute(self, connection: Connection, row: Row) -> None:
        _send(connection, self._text(connection), row)

    def all(self, connection: Connection, row: Row) -> Sequence[Row]:
        """Every row of the result."""
        return _send(connection, self._text(connection), row).fetchall()

    def one(self, connection: Connection, row: Row) -> Row:
        """The only row of the result."""
        (found,) = self.all(connection, row)
        return found

    def _text(self, connection: Connection) -> str:
        dialect = connection.dialect.name
        if dialect not in self._texts:
            self._texts[dialect] = _compiled(self._statement, self._names, connection)
        return self._texts[dialect]


class ByKeys:
    """A query for the rows of some keys, whose last value, `key`, stands for many of them."""

    def __init__(self, statement: ClauseElement, names: Sequence[str], key: str) -> None:
        self._statement, self._names, self._key = statement, [*names, key], key
        self._texts: dict[tuple[str, int], str] = {}  # by dialect and number of keys

    def rows(self, connection: Connection, row: Row, keys: Sequence[object]) -> list[Row]:
        found: list[Row] = []
        for start in range(0, len(keys), MOST_ROWS):
            some = tuple(keys[start : start + MOST_ROWS])
            # Powers of two, as below: the last key stands in for those that are missing.
            count = 1 << (len(some) - 1).bit_length()
            values = (*row, *some, *(some[-1:] * (count - len(some))))
            found += _send(connection, self._text(connection, count), values).fetchall()
        return found

    def _text(self, connection: Connection, count: int) -> str:
        key = connection.dialect.name, count
        if key not in self._texts:
            text = _compiled(self._statement, self._names, connection)
            head, mark, tail = text.rpartition("?" if key[0] == "sqlite" else "%s")
            self._texts[key] = f"{head}{', '.join([mark] * count)}{tail}"
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

    def execute(self, connection: Connection, rows: Sequence[Row]) -> None:
        start = 0
        while start < len(rows):
            # Powers of two, so that there are few texts, and the driver knows them all.
            count = min(MOST_ROWS, 1 << ((len(rows) - start).bit_length() - 1))
            values = tuple(chain.from_iterable(rows[start : start + count]))
            _send(connection, self._text(connection, count), values)
            start += count

    def _text(self, connection: Connection, count: int) -> str:
        key = connection.dialect.name, count
        if key not in self._texts:
            names = [column.name for column in self._table.columns]
            text = _compiled(self._statement(connection.dialect.name), names, connection)
            start = text.index("VALUES (") + len("VALUES ")
            end = text.index(")", start) + 1
            self._texts[key] = text[:start] + ", ".join([text[start:end]] * count) + text[end:]
        return self._texts[key]

    def _statement(self, dialect: str) -> ClauseElement:
        if not self._replace:
            return sa.insert(self._table)
        insert = (sqlite.insert if dialect == "sqlite" else postgresql.insert)(self._table)
        key = [column.name for column in self._table.primary_key]
        others = {name: value for name, value in insert.excluded.items() if name not in key}
        return insert.on_conflict_do_update(index_elements=key, set_=others)


def _send(connection: Connection, text: str, values: Row) -> DBAPICursor:
    """The driver's cursor after the statement; its errors are those that Core would raise."""
    if not connection.in_transaction():
        connection.begin()
    cursor = connection.connection.cursor()
    driver = cast("Any", connection.dialect.dbapi)
    try:
        cursor.execute(text, values)
    except driver.Error as error:
        if connection.dialect.is_disconnect(error, connection.connection.dbapi_connection, cursor):
            connection.invalidate(error)
        raise DBAPIError.instance(
            text, values, error, driver.Error, hide_parameters=True, dialect=connection.dialect
        ) from error
    return cursor


def _compiled(statement: ClauseElement, names: Sequence[str], connection: Connection) -> str:
    style = "qmark" if connection.dialect.name == "sqlite" else "format"
    dialect = cast("type[DefaultDialect]", type(connection.dialect))(paramstyle=style)
    compiled = cast("SQLCompiler", statement.compile(dialect=dialect))
    assert compiled.positiontup == list(names), "the values' order must be the statement's"
    return compiled.string
