"""The technical tables, and one row of figures per order."""

from alembic import op

from services.eventkit.ddl import kit_v1

revision = "0001"
down_revision = None

FIGURES = """
CREATE TABLE order_figures (
    key                  text PRIMARY KEY,
    tenant_id            text NOT NULL,
    order_sequence       bigint NOT NULL CHECK (order_sequence >= 0),
    status               text CHECK
        (status IN ('pending', 'confirmed', 'cancelled', 'needs_attention')),
    reason               text,
    customer_id          text,
    currency             text,
    total                bigint CHECK (total > 0),
    placed_at            timestamptz,
    ended_at             timestamptz,
    reservation_sequence bigint NOT NULL CHECK (reservation_sequence >= 0),
    reservation          text CHECK (reservation IN ('reserved', 'rejected', 'released')),
    payment_sequence     bigint NOT NULL CHECK (payment_sequence >= 0),
    payment              text CHECK
        (payment IN ('captured', 'declined', 'refunded', 'refund_failed')),
    captured             bigint CHECK (captured >= 0),
    refunded             bigint CHECK (refunded >= 0),
    message_sequence     bigint NOT NULL CHECK (message_sequence >= 0),
    mails                jsonb NOT NULL,
    version              bigint NOT NULL,
    CHECK ((status IS NULL) = (order_sequence = 0)),
    CHECK ((reservation IS NULL) = (reservation_sequence = 0)),
    CHECK ((payment IS NULL) = (payment_sequence = 0))
);
CREATE INDEX order_figures_status ON order_figures (tenant_id, status);
"""


def upgrade() -> None:
    """Create everything."""
    op.execute(kit_v1(["analytics.events", "analytics.dlq"]))
    op.execute(FIGURES)
