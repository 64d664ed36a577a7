"""The figures, one row per order, and the reports about them."""

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

reports = sa.Table(
    "reports",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("tenant_id", sa.Text, nullable=False),
    sa.Column("since", _Time, nullable=False),
    sa.Column("until", _Time, nullable=False),
    sa.Column("requested_at", _Time, nullable=False),
    sa.Column("updated_at", _Time, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("reason", sa.Text),
    sa.Column("total", sa.BigInteger),
    sa.Column("rows", sa.BigInteger, nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("pages", sa.Integer, nullable=False),
    sa.Column("ended_at", _Time),
    sa.Column("expires_at", _Time),
    sa.Column("version", sa.BigInteger, nullable=False),
)

report_pages = sa.Table(
    "report_pages",
    metadata,
    sa.Column("report_id", sa.Text, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
