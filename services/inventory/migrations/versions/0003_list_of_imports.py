"""A tenant's imports are found newest first."""

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the index."""
    op.execute("CREATE INDEX imports_of ON imports (tenant_id, requested_at)")
