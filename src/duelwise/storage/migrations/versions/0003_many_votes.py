"""A duel may want several votes."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("tickets", sa.Column("wanted", sa.Integer, nullable=False, server_default="1"))
    op.add_column("tickets", sa.Column("votes", sa.Text))
