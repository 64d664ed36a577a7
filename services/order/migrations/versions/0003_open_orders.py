"""Open orders by tenant: each may have so many."""

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Creates the index."""
    op.execute("CREATE INDEX orders_open_of ON orders (tenant_id) WHERE status = 'pending'")
