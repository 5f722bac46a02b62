"""PostgreSQL connections that give up on a server that does not answer.

The server's own time-outs end what it works on too long. A server that is frozen, or cut off,
cannot end anything: then the connection is closed from this side.
"""

from __future__ import annotations

import time
from typing import Any, TypeVar, cast

import psycopg
from psycopg.abc import PQGen
from psycopg.rows import TupleRow
from psycopg.waiting import Ready
from sqlalchemy import Connection as SqlalchemyConnection
from sqlalchemy.engine.interfaces import DBAPIConnection

T = TypeVar("T")
LOOK_SECONDS = 0.1  # between looks at the time while nothing comes


class PatientConnection(psycopg.Connection[TupleRow]):
    """Waits for an answer as long as `patience` says, in seconds; None: for ever."""

    patience: float | None = None
    usual_patience: float | None = None

    def wait(self, gen: PQGen[T], *_more: Any, **_named: Any) -> T:
        if self.patience is None:
            return super().wait(gen, LOOK_SECONDS)
        try:
            return super().wait(_within(gen, self.patience), LOOK_SECONDS)
        except TimeoutError as error:
            self.pgconn.finish()  # amid an answer that never came: of no more use
            raise psycopg.OperationalError(str(error)) from error

    def rollback(self) -> None:
        try:
            super().rollback()
        finally:
            self.patience = self.usual_patience


def _within(gen: PQGen[T], seconds: float) -> PQGen[T]:
    """The same steps of the protocol, as long as they take no longer."""
    deadline = time.monotonic() + seconds
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if ready == Ready.NONE and time.monotonic() > deadline:
                raise TimeoutError(f"the server did not answer within {seconds:g} seconds")
            wanted = gen.send(ready)
    except StopIteration as done:
        return done.value


def connect(*arguments: str, patience: float, **named: Any) -> DBAPIConnection:
    connection = PatientConnection.connect(*arguments, **named)
    connection.patience = connection.usual_patience = patience
    return cast("DBAPIConnection", connection)


def wait_long(connection: SqlalchemyConnection) -> None:
    """Until the transaction ends, wait for ever; a connection is rolled back when it is given back."""
    held = connection.connection.dbapi_connection
    assert isinstance(held, PatientConnection)
    held.patience = None
