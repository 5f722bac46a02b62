"""Events that are neither a duel nor an answer to one are found without a walk over the log."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

UNCOMMON = sa.text("kind NOT IN ('asked', 'observed', 'told', 'imputed', 'skipped', 'expired')")


def upgrade() -> None:
    columns = ["stream_id", "kind", "seq"]
    op.create_index("uncommon_events", "events", columns, sqlite_where=UNCOMMON, postgresql_where=UNCOMMON)
