"""Generations of the figures, so that they can be rebuilt beside the live ones."""

from alembic import op

from services.eventkit.ddl import generations_v1, projection_state_v1

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Keeps account of them."""
    op.execute(projection_state_v1())
    op.execute(generations_v1())
