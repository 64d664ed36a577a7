"""Orders, idempotency keys and the technical tables."""

from alembic import op

from services.eventkit.ddl import kit_v1

revision = "0001"
down_revision = None

_OWN = """
CREATE TABLE orders (
    order_id      text PRIMARY KEY,
    tenant_id     text NOT NULL,
    customer_id   text NOT NULL,
    currency      text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    total         bigint NOT NULL CHECK (total > 0),
    payment_token text NOT NULL,
    pay_by        timestamptz NOT NULL,
    lines         jsonb NOT NULL CHECK (jsonb_array_length(lines) BETWEEN 1 AND 100),
    status        text NOT NULL CHECK
        (status IN ('pending', 'confirmed', 'cancelled', 'needs_attention')),
    reason        text,
    stock         text NOT NULL,
    payment       text NOT NULL,
    placed_at     timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    waiting_since timestamptz NOT NULL,
    ended_at      timestamptz,
    trace_id      text,
    version       bigint NOT NULL CHECK (version > 0),
    CHECK ((status = 'pending') = (ended_at IS NULL)),
    CHECK ((status IN ('cancelled', 'needs_attention')) = (reason IS NOT NULL))
);
CREATE INDEX orders_open ON orders (waiting_since) WHERE status = 'pending';
CREATE INDEX orders_undoing ON orders (updated_at)
    WHERE status = 'cancelled' AND (stock = 'reserved' OR payment = 'captured');

CREATE TABLE idempotency_keys (
    tenant_id   text NOT NULL,
    route       text NOT NULL,
    key         text NOT NULL,
    fingerprint text NOT NULL,
    status      integer NOT NULL,
    body        jsonb NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, route, key)
);
CREATE INDEX idempotency_keys_created ON idempotency_keys (created_at);
"""


def upgrade() -> None:
    """Creates everything."""
    op.execute(kit_v1(["order.events", "order.dlq"]))
    op.execute(_OWN)
