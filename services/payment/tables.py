"""Payments; the constraints are in the migrations."""

import sqlalchemy as sa

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
