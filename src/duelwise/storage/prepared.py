"""Core statements that are compiled once: what a transaction sends again and again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from sqlalchemy import ClauseElement, CursorResult
from sqlalchemy.engine import Connection
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.sql.compiler import SQLCompiler

Row = tuple[object, ...]


class Prepared:
    """A statement whose text goes to the driver as it is, with values in the order of `names`.

    Core would look up, check and convert every value of every row, which takes longer than
    the database does; these values have the columns' types already.
    """

    def __init__(self, statement: ClauseElement, names: Sequence[str]) -> None:
        self._statement, self._names = statement, list(names)
        self._texts: dict[str, str] = {}  # by dialect

    def execute(self, connection: Connection, rows: Row | list[Row]) -> CursorResult[Row]:
        """Once with one row, or once for each of many."""
        dialect = connection.dialect.name
        if dialect not in self._texts:
            self._texts[dialect] = self._compile(connection)
        return cast("CursorResult[Row]", connection.exec_driver_sql(self._texts[dialect], rows))

    def _compile(self, connection: Connection) -> str:
        style = "qmark" if connection.dialect.name == "sqlite" else "format"
        dialect = cast("type[DefaultDialect]", type(connection.dialect))(paramstyle=style)
        compiled = cast("SQLCompiler", self._statement.compile(dialect=dialect))
        assert compiled.positiontup == self._names, "the values' order must be the statement's"
        return compiled.string
