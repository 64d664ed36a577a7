"""Generations of the read model."""

from alembic import op

from services.eventkit.ddl import generations_v1

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Keeps account of them."""
    op.execute(generations_v1())
