"""Payments; the constraints are in the migrations."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

metadata = sa.MetaData()

payments = sa.Table(
    "payments",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("tenant_id", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("amount", sa.BigInteger, nullable=False),
    sa.Column("currency", sa.Text, nullable=False),
    sa.Column("captured", sa.BigInteger, nullable=False),
    sa.Column("refunded", sa.BigInteger, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("refunds_refused", sa.Integer, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
)

provider_events = sa.Table(
    "provider_events",
    metadata,
    sa.Column("webhook_id", sa.Text, primary_key=True),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("event_type", sa.Text, nullable=False),
    sa.Column("body", JSONB, nullable=False),
    sa.Column("received_at", sa.DateTime(timezone=True), server_default=sa.func.now()),
)
