"""Snapshots say how they were made, and servers that they are alive."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    for number in ("format", "arithmetic"):  # 0.1 wrote neither
        op.add_column("snapshots", sa.Column(number, sa.Integer, nullable=False, server_default="1"))
    op.create_table(
        "servers",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("place", sa.String, nullable=False),
        sa.Column("version", sa.String, nullable=False),
        sa.Column("arithmetic", sa.Integer, nullable=False),
        sa.Column("seen_at", sa.Double, nullable=False),
    )
