"""Streams, events, tickets, snapshots, what repairs cut, and keys."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

NAMED = sa.text("event_id IS NOT NULL")
OPEN = sa.text("state IN ('asked', 'observed', 'voted')")


def upgrade() -> None:
    _create_streams()
    _create_events()
    _create_tickets()
    _create_snapshots()
    _create_cut_events()
    _create_keys()


def _create_streams() -> None:
    op.create_table(
        "streams",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String, nullable=False, unique=True),
        sa.Column("uid", sa.String, nullable=False),
        sa.Column("settings", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("head", sa.BigInteger, nullable=False),
        sa.Column("rounds", sa.BigInteger, nullable=False),
        sa.Column("generation", sa.Integer, nullable=False),
        sa.Column("damaged", sa.BigInteger),
    )


def _create_events() -> None:
    op.create_table(
        "events",
        sa.Column("stream_id", sa.Integer, sa.ForeignKey("streams.id"), primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("round", sa.BigInteger, nullable=False),
        sa.Column("event_id", sa.String),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
        sa.Column("checksum", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "events_by_event_id",
        "events",
        ["stream_id", "event_id"],
        unique=True,
        sqlite_where=NAMED,
        postgresql_where=NAMED,
    )


def _create_tickets() -> None:
    op.create_table(
        "tickets",
        sa.Column("stream_id", sa.Integer, sa.ForeignKey("streams.id"), primary_key=True),
        sa.Column("round", sa.BigInteger, primary_key=True),
        sa.Column("tag", sa.String, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("asked_at", sa.Double, nullable=False),
        sa.Column("asked_seq", sa.BigInteger, nullable=False),
        sa.Column("observed_seq", sa.BigInteger),
        sa.Column("told_seq", sa.BigInteger),
        sa.Column("closed_seq", sa.BigInteger),
        sa.Column("outcome", sa.Double),
        sa.Column("source", sa.String),
        sa.Column("swapped", sa.Boolean, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "tickets_open", "tickets", ["stream_id", "asked_at"], sqlite_where=OPEN, postgresql_where=OPEN
    )


def _create_snapshots() -> None:
    op.create_table(
        "snapshots",
        sa.Column("stream_id", sa.Integer, sa.ForeignKey("streams.id"), primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True),
        sa.Column("payload", sa.LargeBinary, nullable=False),
        sa.Column("checksum", sa.BigInteger, nullable=False),
    )


def _create_cut_events() -> None:
    op.create_table(
        "cut_events",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("stream_id", sa.Integer, sa.ForeignKey("streams.id"), nullable=False),
        sa.Column("cut_at", sa.Double, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.String),
        sa.Column("round", sa.BigInteger),
        sa.Column("event_id", sa.String),
        sa.Column("at", sa.Double),
        sa.Column("payload", sa.LargeBinary),
        sa.Column("checksum", sa.BigInteger),
    )


def _create_keys() -> None:
    op.create_table(
        "keys",
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("role", sa.String, nullable=False),
        sa.Column("stream", sa.String),
        sa.Column("hash", sa.String, nullable=False, unique=True),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("revoked_at", sa.Double),
    )
