"""The tables, as the newest migration leaves them."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    text,
)

HEAD = "0004"  # the newest migration

metadata = MetaData()

streams = Table(
    "streams",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String, nullable=False, unique=True),
    Column("uid", String, nullable=False),
    Column("settings", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("head", BigInteger, nullable=False),
    Column("rounds", BigInteger, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("damaged", BigInteger),
)

events = Table(
    "events",
    metadata,
    Column("stream_id", Integer, ForeignKey("streams.id"), primary_key=True),
    Column("seq", BigInteger, primary_key=True),
    Column("kind", String, nullable=False),
    Column("round", BigInteger, nullable=False),
    Column("event_id", String),
    Column("at", Double, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    Column("checksum", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
_named = text("event_id IS NOT NULL")
Index(
    "events_by_event_id",
    events.c.stream_id,
    events.c.event_id,
    unique=True,
    sqlite_where=_named,
    postgresql_where=_named,
)

COMMON_KINDS = ("asked", "observed", "told", "imputed", "skipped", "expired")
"""Of events; few others are in a log, and those are looked up without a walk over all of it."""
UNCOMMON = text(f"kind NOT IN {COMMON_KINDS}")
UNCOMMON_EVENTS = Index(
    "uncommon_events",
    events.c.stream_id,
    events.c.kind,
    events.c.seq,
    sqlite_where=UNCOMMON,
    postgresql_where=UNCOMMON,
)

tickets = Table(
    "tickets",
    metadata,
    Column("stream_id", Integer, ForeignKey("streams.id"), primary_key=True),
    Column("round", BigInteger, primary_key=True),
    Column("tag", String, nullable=False),
    Column("state", String, nullable=False),
    Column("asked_at", Double, nullable=False),
    Column("asked_seq", BigInteger, nullable=False),
    Column("observed_seq", BigInteger),
    Column("told_seq", BigInteger),
    Column("closed_seq", BigInteger),
    Column("outcome", Double),
    Column("source", String),
    Column("swapped", Boolean, nullable=False),
    Column("wanted", Integer, nullable=False, server_default="1"),
    Column("votes", Text),
    sqlite_with_rowid=False,
)
_open = text("state IN ('asked', 'observed', 'voted')")
Index(
    "tickets_open",
    tickets.c.stream_id,
    tickets.c.asked_at,
    sqlite_where=_open,
    postgresql_where=_open,
)

snapshots = Table(
    "snapshots",
    metadata,
    Column("stream_id", Integer, ForeignKey("streams.id"), primary_key=True),
    Column("seq", BigInteger, primary_key=True),
    Column("payload", LargeBinary, nullable=False),
    Column("checksum", BigInteger, nullable=False),
    Column("format", Integer, nullable=False, server_default="1"),
    Column("arithmetic", Integer, nullable=False, server_default="1"),
)

cut_events = Table(
    "cut_events",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("stream_id", Integer, ForeignKey("streams.id"), nullable=False),
    Column("cut_at", Double, nullable=False),
    Column("reason", Text, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("kind", String),
    Column("round", BigInteger),
    Column("event_id", String),
    Column("at", Double),
    Column("payload", LargeBinary),
    Column("checksum", BigInteger),
)

keys = Table(
    "keys",
    metadata,
    Column("name", String, primary_key=True),
    Column("role", String, nullable=False),
    Column("stream", String),
    Column("hash", String, nullable=False, unique=True),
    Column("created_at", Double, nullable=False),
    Column("revoked_at", Double),
)

servers = Table(
    "servers",
    metadata,
    Column("id", String, primary_key=True),
    Column("place", String, nullable=False),
    Column("version", String, nullable=False),
    Column("arithmetic", Integer, nullable=False),
    Column("seen_at", Double, nullable=False),
)
