"""Opening a database: connection settings that make a commit durable, then migrations."""

from __future__ import annotations

from pathlib import Path
from sqlite3 import Connection as SqliteConnection

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import URL, Connection, Engine
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry

from duelwise.errors import InvalidInput, StorageFailure, require, unknown_name
from duelwise.storage.schema import HEAD

BUSY_SECONDS = 30  # how long a writer waits for another process to finish its transaction
MIGRATION_LOCK = 7_353_611  # an arbitrary number that every Duelwise process agrees on

_SQLITE_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",  # in WAL mode, NORMAL may lose acknowledged commits on power loss
    f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}",
    "PRAGMA foreign_keys = ON",
)


def open_engine(url: str) -> Engine:
    """A migrated database at `sqlite:///path` or `postgresql://…`."""
    address = _address(url)
    engine = _sqlite(address) if address.get_backend_name() == "sqlite" else _postgresql(address)
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
    if backend not in ("sqlite", "postgresql"):
        raise unknown_name("store", backend, ("sqlite", "postgresql"))
    if backend == "sqlite" and address.database in (None, "", ":memory:"):
        raise InvalidInput(
            f"{url!r} keeps the log in memory, where nothing is durable; give a file: sqlite:///duels.db"
        )
    return address


def _sqlite(address: URL) -> Engine:
    folder = Path(address.database or "").resolve().parent
    if not folder.is_dir():
        raise InvalidInput(f"The folder {folder} does not exist; create it, or choose another file.")
    engine = sa.create_engine(address)

    def settle(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
        assert isinstance(connection, SqliteConnection)
        connection.isolation_level = None  # transactions begin where `begin` says so
        for pragma in _SQLITE_PRAGMAS:
            connection.execute(pragma)

    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        # A writer takes its lock at once: a reader that turns writer may be refused half-way.
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    event.listen(engine, "connect", settle)
    event.listen(engine, "begin", begin)
    return engine


def _postgresql(address: URL) -> Engine:
    require("psycopg", extra="postgres", purpose="A PostgreSQL store")
    engine = sa.create_engine(address.set(drivername="postgresql+psycopg"), pool_pre_ping=True)

    def settle(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
        cursor = connection.cursor()
        cursor.execute("SET SESSION synchronous_commit = on")
        cursor.close()
        connection.commit()

    event.listen(engine, "connect", settle)
    return engine


def _migrate(engine: Engine) -> None:
    """Apply missing migrations, one process at a time."""
    with engine.connect() as connection:
        if _version(connection) == HEAD:
            return
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        if engine.dialect.name == "postgresql":
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
