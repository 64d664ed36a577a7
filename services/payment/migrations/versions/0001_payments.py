"""The technical tables, and one payment per order."""

from alembic import op

from services.eventkit.ddl import kit_v1

revision = "0001"
down_revision = None

PAYMENTS = """
CREATE TABLE payments (
    key       text PRIMARY KEY,
    tenant_id text NOT NULL,
    status    text NOT NULL CHECK (status IN
        ('pending', 'captured', 'declined', 'voiding', 'voided', 'cancelled',
         'refunding', 'refunded', 'refund_failed')),
    -- Money is in minor units of the currency; a tombstone has neither.
    amount    bigint NOT NULL CHECK (amount >= 0),
    currency  text NOT NULL,
    captured  bigint NOT NULL CHECK (captured BETWEEN 0 AND amount),
    refunded  bigint NOT NULL CHECK (refunded BETWEEN 0 AND captured),
    reason    text NOT NULL,
    refunds_refused integer NOT NULL CHECK (refunds_refused >= 0),
    version   bigint NOT NULL CHECK (version >= 0),
    CHECK ((status = 'cancelled') = (amount = 0)),
    CHECK (length(currency) = CASE WHEN amount = 0 THEN 0 ELSE 3 END),
    CHECK ((status IN ('captured', 'refunding', 'refunded', 'refund_failed')) = (captured > 0)),
    CHECK ((status = 'refunded') = (refunded > 0))
);
CREATE INDEX payments_open ON payments (status)
    WHERE status IN ('pending', 'voiding', 'refunding', 'refund_failed');
"""


def upgrade() -> None:
    """Create everything."""
    op.execute(kit_v1(["payment.events", "payment.dlq"]))
    op.execute(PAYMENTS)
