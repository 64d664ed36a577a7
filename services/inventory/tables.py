"""Stock, reservations and the lines they hold; the constraints are in the migrations."""

import sqlalchemy as sa

metadata = sa.MetaData()

stock = sa.Table(
    "stock",
    metadata,
    sa.Column("tenant_id", sa.Text, primary_key=True),
    sa.Column("sku", sa.Text, primary_key=True),
    sa.Column("imported", sa.BigInteger, nullable=False),
    sa.Column("available", sa.BigInteger, nullable=False),
    sa.Column("held", sa.BigInteger, nullable=False),
)

reservations = sa.Table(
    "reservations",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("tenant_id", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
)

reservation_lines = sa.Table(
    "reservation_lines",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("sku", sa.Text, primary_key=True),
    sa.Column("tenant_id", sa.Text, nullable=False),
    sa.Column("quantity", sa.BigInteger, nullable=False),
)
