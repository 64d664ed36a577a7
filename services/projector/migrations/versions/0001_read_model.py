"""The read model, its offsets, its state and its dead letters."""

from alembic import op

from services.eventkit.ddl import projection_state_v1

revision = "0001"
down_revision = None

_TABLES = """
CREATE TABLE order_view (
    order_id             uuid PRIMARY KEY,
    tenant_id            text NOT NULL,
    began_at             timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL,
    customer_id          text,
    currency             text,
    total                bigint,
    lines                jsonb,
    pay_by               timestamptz,
    placed_at            timestamptz,
    ended_at             timestamptz,
    status               text CHECK
        (status IN ('pending', 'confirmed', 'cancelled', 'needs_attention')),
    reason               text,
    order_sequence       bigint NOT NULL,
    reservation_status   text CHECK (reservation_status IN ('reserved', 'rejected', 'released')),
    short                jsonb,
    reservation_sequence bigint NOT NULL,
    payment_id           text,
    payment_status       text CHECK
        (payment_status IN ('captured', 'declined', 'refunded', 'refund_failed')),
    payment_reason       text,
    captured             bigint,
    refunded             bigint,
    payment_sequence     bigint NOT NULL,
    message_kind         text,
    message_status       text CHECK (message_status IN ('sent', 'failed')),
    message_reason       text,
    message_sequence     bigint NOT NULL
);
CREATE INDEX order_view_newest ON order_view (tenant_id, began_at, order_id);
CREATE INDEX order_view_status ON order_view (tenant_id, status, began_at, order_id);
CREATE INDEX order_view_customer ON order_view (tenant_id, customer_id, began_at, order_id);

-- No foreign key between the two: a view that was lost is folded again from its timeline.
CREATE TABLE order_timeline (
    order_id       uuid NOT NULL,
    message_id     uuid NOT NULL,
    tenant_id      text NOT NULL,
    event_type     text NOT NULL,
    source         text NOT NULL,
    sequence       bigint NOT NULL,
    time           timestamptz NOT NULL,
    correlation_id text NOT NULL,
    causation_id   text,
    actor_id       text NOT NULL,
    topic          text NOT NULL,
    partition      integer NOT NULL,
    "offset"       bigint NOT NULL,
    data           jsonb NOT NULL,
    PRIMARY KEY (order_id, message_id)
);

CREATE TABLE projection_offsets (
    topic       text NOT NULL,
    partition   integer NOT NULL,
    next_offset bigint NOT NULL CHECK (next_offset >= 0),
    PRIMARY KEY (topic, partition)
);

CREATE TABLE dead_letters (
    seq            bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    message_id     uuid PRIMARY KEY,
    key            text,
    tenant_id      text NOT NULL,
    event_type     text,
    topic          text NOT NULL,
    partition      integer NOT NULL,
    "offset"       bigint NOT NULL,
    record_key     bytea,
    record_headers jsonb NOT NULL,
    record_value   bytea,
    status         text NOT NULL CHECK (status IN ('dead', 'redriven', 'discarded')),
    reason         text NOT NULL,
    first_error    text NOT NULL,
    last_error     text NOT NULL,
    attempts       integer NOT NULL CHECK (attempts >= 0),
    failed_at      timestamptz NOT NULL DEFAULT now(),
    updated_at     timestamptz NOT NULL DEFAULT now()
);
"""


def upgrade() -> None:
    """Creates the tables."""
    op.execute(_TABLES)
    op.execute(projection_state_v1())
