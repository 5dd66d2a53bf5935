"""The tables of the first version."""

from __future__ import annotations

from alembic import op

from rulekit_serve.store.tables import METADATA

revision = "1"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make all tables."""
    METADATA.create_all(op.get_bind())
