"""What streams tell: every state an order has had."""

from alembic import op

revision = "0002"
down_revision = "0001"

_CHANGES = """
CREATE TABLE order_changes (
    seq       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Which transaction wrote it: a reader passes over those that may still be under way.
    xact      xid8 NOT NULL DEFAULT pg_current_xact_id(),
    tenant_id text NOT NULL,
    order_id  text NOT NULL,
    at        timestamptz NOT NULL,
    state     jsonb NOT NULL
);
CREATE INDEX order_changes_order ON order_changes (order_id, seq);
CREATE INDEX order_changes_tenant ON order_changes (tenant_id, xact, seq);
CREATE INDEX order_changes_xact ON order_changes (xact, seq);
"""


def upgrade() -> None:
    """Creates the table."""
    op.execute(_CHANGES)
