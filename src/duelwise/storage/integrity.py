"""The database's own check of its pages and indexes."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DatabaseError

from duelwise.storage.database import unhurried
from duelwise.storage.schema import metadata

_HAS_AMCHECK = sa.text("SELECT 1 FROM pg_extension WHERE extname = 'amcheck'")
_CHECK_INDEXES = sa.text(
    "SELECT bt_index_check(indexrelid) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid "
    "WHERE indrelid::regclass::text = ANY(:tables)"
)


def problems(connection: Connection) -> list[str]:
    """What is wrong, in the database's words; PostgreSQL checks indexes where `amcheck` is installed."""
    unhurried(connection)
    try:
        if connection.dialect.name == "sqlite":
            found = connection.exec_driver_sql("PRAGMA integrity_check(20)").scalars().all()
            return [str(one) for one in found if one != "ok"]
        if connection.execute(_HAS_AMCHECK).first() is not None:
            connection.execute(_CHECK_INDEXES, {"tables": list(metadata.tables)})
    except DatabaseError as error:
        return [str(error.args[0])]
    return []


def reindex(connection: Connection) -> None:
    """Make every index anew; where even that fails, the next check will say why."""
    unhurried(connection)
    try:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("REINDEX")
        else:
            for table in metadata.tables:
                connection.exec_driver_sql(f"REINDEX TABLE {table}")
        connection.commit()
    except DatabaseError:
        connection.rollback()
