"""One PostgreSQL connection whose answers an event loop waits for.

A thread that waited for the server would want the interpreter back whenever an answer comes, and the event
loop has it then: handing it to and fro costs more than the transaction. So statements are only written to
the connection here (libpq's pipeline), and their answers are taken when the socket has them. Each text is
prepared once.

    pipeline.send(text, values)      # as many as there are
    pipeline.post()                  # the server may answer
    while not pipeline.receive():    # whenever the socket can be read, or written to
        ...
"""

from __future__ import annotations

import contextlib
import select
import time
from collections import deque
from typing import NoReturn, cast

from psycopg import Error, OperationalError
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, Format
from psycopg.pq.abc import PGconn, PGresult
from sqlalchemy.engine import Engine
from sqlalchemy.exc import DBAPIError

from duelwise.storage.postgres_timeouts import PatientConnection
from duelwise.storage.sqlite_connection import Row

_SETTINGS = (
    # A plan is made once, and a table may be empty then: it must be one that is right for a long log.
    "SET SESSION plan_cache_mode = force_generic_plan",
    "SET SESSION enable_seqscan = off",
    "SET SESSION enable_hashjoin = off",
    "SET SESSION enable_mergejoin = off",
    "SET SESSION lock_timeout = '1s'",  # others wait meanwhile: who needs longer is left to a thread
)
_FINE = (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK)


class PendingRows:
    """The rows of a statement, once they are here."""

    def __init__(self, pipeline: PostgresPipeline) -> None:
        self._pipeline = pipeline
        self.rows: list[Row] | None = None

    def fetchall(self) -> list[Row]:
        """Who cannot do without them waits for them."""
        if self.rows is None:
            self._pipeline.wait()
        assert self.rows is not None
        return self.rows


class _Preparing:
    """The server is asked to prepare a text; whether it has, its answer says."""

    def __init__(self, text: str, name: bytes) -> None:
        self.text, self.name = text, name


class PostgresPipeline:
    """One caller's from `begin` until it is released; errors are those that Core would raise.

    The first error of what was posted is raised when the last answer has come. `is_lost` tells that the
    connection is of no more use.
    """

    def __init__(self, engine: Engine) -> None:
        self.dialect = engine.dialect
        self._pooled = engine.raw_connection()
        held = self._pooled.dbapi_connection
        assert isinstance(held, PatientConnection)
        self.patience: float = held.usual_patience or 0.0
        self._held = held
        self._wire: PGconn = held.pgconn
        self._loaded = Transformer(held)
        for setting in _SETTINGS:
            held.execute(setting)
        held.commit()
        self._wire.nonblocking = 1
        self._wire.enter_pipeline_mode()
        self._names: dict[str, bytes] = {}  # of prepared texts
        self._named = 0
        # Answers to come, in order; None ends a post.
        self._due: deque[PendingRows | _Preparing | None] = deque()
        self._error: Error | None = None
        self._is_taken = False
        self.is_lost = False

    def begin(self) -> bool:
        """Start a transaction; False when one is under way or was rolled back this moment."""
        if self.is_lost or self._is_taken:
            return False
        if self._due:
            with contextlib.suppress(DBAPIError):  # nobody asks for it any more
                self.receive()
            if self._due or self.is_lost:
                return False
        self._is_taken = True
        self.send("BEGIN")
        return True

    def release(self) -> None:
        """The transaction is committed, or rolled back; the next caller may begin."""
        self._is_taken = False

    @property
    def is_unsent(self) -> bool:
        """Whether the socket has not taken everything yet; of one that is gone `receive` tells."""
        with contextlib.suppress(DBAPIError):
            return self._flush()
        return False

    def fileno(self) -> int:
        return self._wire.socket

    def send(self, text: str, values: Row = ()) -> PendingRows:
        """Queue a statement for the server."""
        try:
            name = self._names.get(text) or self._prepared(text)
            written = [_written(value) for value in values]
            self._wire.send_query_prepared(
                name, [value for value, _ in written], [format for _, format in written], Format.BINARY
            )
        except Error as error:
            self._lose(error)
        reply = PendingRows(self)
        self._due.append(reply)
        return reply

    def post(self) -> None:
        """Let the server answer what was sent so far."""
        try:
            self._wire.pipeline_sync()
        except Error as error:
            self._lose(error)
        self._due.append(None)
        self._flush()

    def receive(self) -> bool:
        """Take the answers that are here; True when the last one has come."""
        try:
            self._flush()
            self._wire.consume_input()
            while self._due and not self._wire.is_busy():
                self._take(self._wire.get_result())
        except Error as error:
            self._lose(error)
        if self._due:
            return False
        if self._error is not None:
            error, self._error = self._error, None
            raise self._told(error) from error
        return True

    def wait(self) -> None:
        """Until all answers are here, no longer than `patience`."""
        self.post()
        deadline = time.monotonic() + self.patience
        while not self.receive():
            left = deadline - time.monotonic()
            if left <= 0:
                self.give_up()
            select.select([self], [self] if self.is_unsent else [], [], left)

    def roll_back(self) -> None:
        """End the transaction; nobody waits for the answer."""
        self.release()
        if not self.is_lost:
            with contextlib.suppress(DBAPIError):  # who has lost the connection has lost the transaction
                self.send("ROLLBACK")
                self.post()

    def give_up(self) -> NoReturn:
        """The server does not answer."""
        self._lose(OperationalError(f"the server did not answer within {self.patience:g} seconds"))

    def close(self) -> None:
        """Nobody may watch the socket any more."""
        self.is_lost = True
        self._pooled.invalidate()

    def _prepared(self, text: str) -> bytes:
        self._named += 1
        name = b"duelwise_%d" % self._named
        self._wire.send_prepare(name, text.encode())
        self._due.append(_Preparing(text, name))
        self._names[text] = name
        return name

    def _take(self, result: PGresult | None) -> None:
        """One answer; the driver puts a None after each that belongs to a statement."""
        if result is None:
            return
        due = self._due.popleft()
        if result.status in _FINE:
            if isinstance(due, PendingRows):
                due.rows = self._rows(result)
            return
        if isinstance(due, _Preparing):
            del self._names[due.text]
        if result.status == ExecStatus.FATAL_ERROR and self._error is None:
            self._error = error_from_result(result, encoding=self._held.info.encoding)

    def _rows(self, result: PGresult) -> list[Row]:
        if not result.ntuples:
            return []
        self._loaded.set_pgresult(result)
        return cast("list[Row]", self._loaded.load_rows(0, result.ntuples, tuple))

    def _flush(self) -> bool:
        try:
            return bool(self._wire.flush())
        except Error as error:
            self._lose(error)

    def _lose(self, error: Error) -> NoReturn:
        self.is_lost = True
        self._due.clear()
        raise self._told(error) from error

    def _told(self, error: Error) -> BaseException:
        return DBAPIError.instance(
            "one of several statements", None, error, Error, hide_parameters=True, dialect=self.dialect
        )  # fmt: skip


def _written(value: object) -> tuple[bytes | None, Format]:
    """As the server reads it. Texts go as they are, since the other format would end at a zero byte."""
    if isinstance(value, bytes):
        return value, Format.BINARY
    if isinstance(value, str):
        return value.encode(), Format.BINARY
    if value is None:
        return None, Format.TEXT
    if isinstance(value, bool):
        return b"t" if value else b"f", Format.TEXT
    return (repr(float(value)) if isinstance(value, float) else str(value)).encode(), Format.TEXT
