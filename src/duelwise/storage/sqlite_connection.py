"""One SQLite connection that goes straight to the driver, for transactions that must not wait.

An event loop takes the steps of a transaction between requests. Core's own begin, commit and
bookkeeping would cost as much as a whole request, and are of no use to a single connection.
"""

from __future__ import annotations

import sqlite3

from sqlalchemy.engine import Engine
from sqlalchemy.exc import DBAPIError

from duelwise.storage.database import is_lock_timeout

Row = tuple[object, ...]


class SqliteConnection:
    """The caller's from `begin` until commit or rollback; errors are those that Core would raise."""

    def __init__(self, engine: Engine) -> None:
        self.dialect = engine.dialect
        self._pooled = engine.raw_connection()
        held = self._pooled.dbapi_connection
        assert isinstance(held, sqlite3.Connection)
        self._held = held
        self.send("PRAGMA busy_timeout = 0")

    @property
    def is_in_use(self) -> bool:
        """Whether a transaction is under way here."""
        return self._held.in_transaction

    def begin(self) -> bool:
        """Start to write; False when a transaction is under way, here or in another process."""
        if self._held.in_transaction:
            return False
        try:
            self._held.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if is_lock_timeout(str(error)):
                return False
            raise self._told("BEGIN IMMEDIATE", error) from error
        return True

    def commit(self) -> None:
        self.send("COMMIT")

    def rollback(self) -> None:
        if self._held.in_transaction:
            self.send("ROLLBACK")

    def send(self, text: str, values: Row = ()) -> sqlite3.Cursor:
        try:
            return self._held.execute(text, values)
        except sqlite3.Error as error:
            raise self._told(text, error) from error

    def close(self) -> None:
        self._pooled.invalidate()  # with its own time-out it is of no use to others

    def _told(self, text: str, error: sqlite3.Error) -> BaseException:
        return DBAPIError.instance(
            text, None, error, sqlite3.Error, hide_parameters=True, dialect=self.dialect
        )  # fmt: skip
