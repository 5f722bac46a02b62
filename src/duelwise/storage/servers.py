"""Which processes serve the store, by the heartbeat they leave in it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from duelwise.storage import schema
from duelwise.storage.rows import ServerRow

FORGOTTEN_SECONDS = 24 * 3600.0  # after which a row of a process that died is dropped

Transaction = Callable[[], AbstractContextManager[Connection]]


class Servers:
    def __init__(self, reading: Transaction, changing: Transaction) -> None:
        self._reading, self._changing = reading, changing

    def beat(self, server: ServerRow) -> None:
        """Say that a process is alive, now; `seen_at` is the database's to say."""
        table = schema.servers
        with self._changing() as connection:
            now = _now(connection)
            stale = sa.or_(
                table.c.id == server.id,
                table.c.seen_at < now - FORGOTTEN_SECONDS,
                table.c.seen_at > now + FORGOTTEN_SECONDS,
            )
            connection.execute(sa.delete(table).where(stale))
            connection.execute(sa.insert(table), server._replace(seen_at=now)._asdict())

    def living(self, *, within: float) -> list[ServerRow]:
        """The processes that were alive so few seconds ago; a clock that was set back hides none."""
        table = schema.servers.c
        columns = [table[name] for name in ServerRow._fields]
        with self._reading() as connection:
            now = _now(connection)
            recent = table.seen_at.between(now - within, now + within)
            rows = connection.execute(sa.select(*columns).where(recent).order_by(table.place))
            return [ServerRow._make(row) for row in rows]

    def leave(self, id: str) -> None:
        with self._changing() as connection:
            connection.execute(sa.delete(schema.servers).where(schema.servers.c.id == id))


def _now(connection: Connection) -> float:
    """One clock for all machines: the database's; a file has the one of its machine."""
    if connection.dialect.name == "sqlite":
        return time.time()
    moment = connection.exec_driver_sql("SELECT extract(epoch FROM clock_timestamp())").scalar_one()
    return float(moment)
