"""Processes that stopped amid a transaction: whoever waits for their lock ends them.

PostgreSQL's own time-out for such sessions comes first; its timer was seen to miss now and then.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

from duelwise.storage import database

_END = sa.text("""
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity AS session
    WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()
      AND state = 'idle in transaction' AND state_change < now() - make_interval(secs => :seconds)
      AND application_name <> :unhurried
      AND EXISTS (
        SELECT 1 FROM pg_locks AS held
        WHERE held.pid = session.pid AND held.granted AND held.relation = 'streams'::regclass
      )
""")


@contextmanager
def ending_stopped_holders(connection: Connection) -> Generator[None]:
    """Where a lock is waited for in vain: sessions of ours that do nothing with it lose it."""
    try:
        yield
    except DBAPIError as error:
        if connection.dialect.name == "postgresql" and database.is_lock_timeout(str(error)):
            connection.rollback()
            named = {"seconds": database.IDLE_SECONDS, "unhurried": database.UNHURRIED}
            connection.execute(_END, named)
            connection.commit()
        raise
