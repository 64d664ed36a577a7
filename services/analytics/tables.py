"""The figures table: one row per order."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

metadata = sa.MetaData()
_Time = sa.DateTime(timezone=True)

order_figures = sa.Table(
    "order_figures",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("tenant_id", sa.Text, nullable=False),
    sa.Column("order_sequence", sa.BigInteger, nullable=False),
    sa.Column("status", sa.Text),
    sa.Column("reason", sa.Text),
    sa.Column("customer_id", sa.Text),
    sa.Column("currency", sa.Text),
    sa.Column("total", sa.BigInteger),
    sa.Column("placed_at", _Time),
    sa.Column("ended_at", _Time),
    sa.Column("reservation_sequence", sa.BigInteger, nullable=False),
    sa.Column("reservation", sa.Text),
    sa.Column("payment_sequence", sa.BigInteger, nullable=False),
    sa.Column("payment", sa.Text),
    sa.Column("captured", sa.BigInteger),
    sa.Column("refunded", sa.BigInteger),
    sa.Column("message_sequence", sa.BigInteger, nullable=False),
    sa.Column("mails", JSONB, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
)
