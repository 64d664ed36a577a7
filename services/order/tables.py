"""The order service's own tables."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

metadata = sa.MetaData()
_Time = sa.DateTime(timezone=True)

orders = sa.Table(
    "orders",
    metadata,
    sa.Column("order_id", sa.Text, primary_key=True),
    sa.Column("tenant_id", sa.Text, nullable=False),
    sa.Column("customer_id", sa.Text, nullable=False),
    sa.Column("currency", sa.Text, nullable=False),
    sa.Column("total", sa.BigInteger, nullable=False),
    sa.Column("payment_token", sa.Text, nullable=False),
    sa.Column("pay_by", _Time, nullable=False),
    sa.Column("lines", JSONB, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("reason", sa.Text),
    sa.Column("stock", sa.Text, nullable=False),
    sa.Column("payment", sa.Text, nullable=False),
    sa.Column("placed_at", _Time, nullable=False),
    sa.Column("updated_at", _Time, nullable=False),
    sa.Column("waiting_since", _Time, nullable=False),
    sa.Column("ended_at", _Time),
    sa.Column("trace_id", sa.Text),
    sa.Column("version", sa.BigInteger, nullable=False),
)

webhooks = sa.Table(
    "webhooks",
    metadata,
    sa.Column("webhook_id", sa.Text, primary_key=True),
    sa.Column("tenant_id", sa.Text, nullable=False),
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("events", JSONB, nullable=False),
    sa.Column("secret", sa.Text, nullable=False),
    sa.Column("old_secrets", JSONB, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("reason", sa.Text),
    sa.Column("created_at", _Time, server_default=sa.func.now()),
)

deliveries = sa.Table(
    "deliveries",
    metadata,
    sa.Column("delivery_id", sa.Text, primary_key=True),
    sa.Column("webhook_id", sa.Text, nullable=False),
    sa.Column("tenant_id", sa.Text, nullable=False),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("event_type", sa.Text, nullable=False),
    sa.Column("payload", JSONB, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("answer", sa.Integer),
    sa.Column("error", sa.Text),
    sa.Column("next_at", _Time),
    sa.Column("created_at", _Time, nullable=False),
    sa.Column("updated_at", _Time, nullable=False),
)
