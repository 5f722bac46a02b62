"""Core statements that are compiled once: what a transaction sends again and again.

Core would look up, check and convert every value of every row, which takes longer than
the database does; these values have the columns' types already.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import cast

import sqlalchemy as sa
from sqlalchemy import ClauseElement, CursorResult
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.sql.compiler import SQLCompiler

Row = tuple[object, ...]
MOST_ROWS = 256  # of one statement; databases limit its values to some 32,000


class Prepared:
    """A statement whose text goes to the driver as it is, with values in the order of `names`."""

    def __init__(self, statement: ClauseElement, names: Sequence[str]) -> None:
        self._statement, self._names = statement, names
        self._texts: dict[str, str] = {}  # by dialect

    def execute(self, connection: Connection, row: Row) -> CursorResult[Row]:
        dialect = connection.dialect.name
        if dialect not in self._texts:
            self._texts[dialect] = _compiled(self._statement, self._names, connection)
        return cast("CursorResult[Row]", connection.exec_driver_sql(self._texts[dialect], row))


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
            connection.exec_driver_sql(self._text(connection, count), values)
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


def _compiled(statement: ClauseElement, names: Sequence[str], connection: Connection) -> str:
    style = "qmark" if connection.dialect.name == "sqlite" else "format"
    dialect = cast("type[DefaultDialect]", type(connection.dialect))(paramstyle=style)
    compiled = cast("SQLCompiler", statement.compile(dialect=dialect))
    assert compiled.positiontup == list(names), "the values' order must be the statement's"
    return compiled.string
