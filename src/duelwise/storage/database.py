"""Opening a database: connection settings that make a commit durable, then migrations."""

from __future__ import annotations

import time
from pathlib import Path
from sqlite3 import Connection as SqliteConnection
from sqlite3 import OperationalError
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import URL, Connection, Dialect, Engine
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, DisconnectionError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection

from duelwise.errors import InvalidInput, StorageFailure, check_known, require
from duelwise.storage.schema import HEAD

STATEMENT_SECONDS = 10.0  # the longest that one statement may take
LOCK_SECONDS = 5.0  # how long a writer waits for another process to finish its transaction
CONNECT_SECONDS = 5
IDLE_SECONDS = 15.0  # a process that stops amid a transaction loses it, and the lock, after so long
UNHURRIED = "duelwise, unhurried"  # the name of a session that may take longer: a migration, a repair
STATEMENTS_KEPT = 512  # prepared, by a connection to SQLite
GRACE_SECONDS = 2.0  # between the server's own time-out and giving up on a server that does not answer
IDLE_UNASKED_SECONDS = 1.0  # a connection that was used so recently is taken to be alive
USED = "used_at"
MIGRATION_LOCK = 7_353_611  # an arbitrary number that every Duelwise process agrees on

_LOCK_TIMEOUTS = ("database is locked", "lock timeout", "LockNotAvailable")

_SQLITE_PRAGMAS = (
    "PRAGMA synchronous = FULL",  # in WAL mode, NORMAL may lose acknowledged commits on power loss
    f"PRAGMA busy_timeout = {int(LOCK_SECONDS * 1000)}",
    "PRAGMA foreign_keys = ON",
)


def is_lock_timeout(message: str) -> bool:
    """Whether the database gave up waiting for another process."""
    return any(words in message for words in _LOCK_TIMEOUTS)


def open_engine(url: str, *, statement_seconds: float = STATEMENT_SECONDS) -> Engine:
    """A migrated database at `sqlite:///path` or `postgresql://…`."""
    address = _address(url)
    if address.get_backend_name() == "sqlite":
        engine = _sqlite(address)
    else:
        engine = _postgresql(address, statement_seconds)
    try:
        _migrate(engine)
    except SQLAlchemyError as error:
        engine.dispose()
        raise StorageFailure(
            f"The store {address.render_as_string()} could not be opened: {error.args[0]}. "
            "Check that the address is right and the database can be reached and written."
        ) from error
    return engine


def _address(url: str) -> URL:
    try:
        address = sa.make_url(url)
    except ArgumentError as error:
        raise InvalidInput(
            f"{url!r} is no store address; expected sqlite:///file.db or postgresql://user@host/name."
        ) from error
    backend = address.get_backend_name()
    check_known("store", backend, ("sqlite", "postgresql"))
    if backend == "sqlite" and address.database in (None, "", ":memory:"):
        raise InvalidInput(
            f"{url!r} keeps the log in memory, where nothing is durable; give a file: sqlite:///duels.db"
        )
    return address


def _sqlite(address: URL) -> Engine:
    folder = Path(address.database or "").resolve().parent
    if not folder.is_dir():
        raise InvalidInput(f"The folder {folder} does not exist; create it, or choose another file.")
    engine = sa.create_engine(address, connect_args={"cached_statements": STATEMENTS_KEPT})

    def settle(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
        assert isinstance(connection, SqliteConnection)
        connection.isolation_level = None  # transactions begin where `begin` says so
        for pragma in _SQLITE_PRAGMAS:
            connection.execute(pragma)
        write_ahead(connection)

    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        # A writer takes its lock at once: a reader that turns writer may be refused half-way.
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    event.listen(engine, "connect", settle)
    event.listen(engine, "begin", begin)
    return engine


def write_ahead(connection: SqliteConnection) -> None:
    """Commits go to a file beside; of several that begin a new store, SQLite makes some fail, not wait."""
    latest = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except OperationalError as error:
            if not is_lock_timeout(str(error)) or time.monotonic() > latest:
                raise
            time.sleep(0.01)


def empty_write_ahead_file(engine: Engine) -> None:
    """Bring what SQLite has written into its file; outside of any transaction."""
    held = engine.raw_connection()
    try:
        assert isinstance(held.dbapi_connection, SqliteConnection)
        held.dbapi_connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        held.close()


def _postgresql(address: URL, statement_seconds: float) -> Engine:
    require("psycopg", extra="postgres", purpose="A PostgreSQL store")
    from duelwise.storage.postgres_timeouts import connect

    engine = sa.create_engine(
        address.set(drivername="postgresql+psycopg"), connect_args={"connect_timeout": CONNECT_SECONDS}
    )
    settings = {
        "synchronous_commit": "on",
        "statement_timeout": _milliseconds(statement_seconds),
        "lock_timeout": _milliseconds(min(LOCK_SECONDS, statement_seconds)),
        "idle_in_transaction_session_timeout": _milliseconds(IDLE_SECONDS),
        "plan_cache_mode": "force_custom_plan",  # one made while a table was empty would be kept for long
    }

    def join(
        _dialect: Dialect, _entry: ConnectionPoolEntry, arguments: list[str], named: dict[str, Any]
    ) -> DBAPIConnection:
        return connect(*arguments, patience=statement_seconds + GRACE_SECONDS, **named)

    def settle(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
        cursor = connection.cursor()
        for name, value in settings.items():
            cursor.execute(f"SET SESSION {name} = '{value}'")
        cursor.close()
        connection.commit()

    def check(connection: DBAPIConnection, entry: ConnectionPoolEntry, _proxy: PoolProxiedConnection) -> None:
        """A connection that was left alone may be dead; asking each time would cost a round trip."""
        if time.monotonic() - entry.info.get(USED, 0.0) > IDLE_UNASKED_SECONDS:
            try:
                engine.dialect.do_ping(connection)
            except Exception as error:
                raise DisconnectionError(str(error)) from error

    def note(_connection: DBAPIConnection | None, entry: ConnectionPoolEntry) -> None:
        entry.info[USED] = time.monotonic()

    event.listen(engine, "do_connect", join)
    event.listen(engine, "connect", settle)
    event.listen(engine, "checkout", check)
    event.listen(engine, "checkin", note)
    return engine


def _milliseconds(seconds: float) -> str:
    return f"{int(seconds * 1000)}ms"


def unhurried(connection: Connection) -> None:
    """Let this transaction take its time: a migration, a repair, a look at every row."""
    if connection.dialect.name == "postgresql":
        from duelwise.storage.postgres_timeouts import wait_long

        connection.exec_driver_sql(f"SET LOCAL application_name = '{UNHURRIED}'")
        connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
        connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
        wait_long(connection)


def _migrate(engine: Engine) -> None:
    """Apply missing migrations, one process at a time."""
    with engine.connect() as connection:
        if _version(connection) == HEAD:
            return
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        if engine.dialect.name == "postgresql":
            unhurried(connection)
            connection.exec_driver_sql("SET LOCAL lock_timeout = 0")  # of another that migrates
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(MIGRATION_LOCK)))
        found = _version(connection)
        if found is not None and found > HEAD:
            raise StorageFailure(
                f"The store has schema {found}, and this version knows schemas up to {HEAD}. "
                "Open it with the version of Duelwise that wrote it, or a later one."
            )
        if found != HEAD:
            _upgrade(connection)


def _version(connection: Connection) -> str | None:
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()


def _upgrade(connection: Connection) -> None:
    # Alembic is only imported when there is something to migrate.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    config.attributes["connection"] = connection
    command.upgrade(config, HEAD)
