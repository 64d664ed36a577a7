"""Contacts, and the messages of each order; the constraints are in the migrations."""

import sqlalchemy as sa

metadata = sa.MetaData()

contacts = sa.Table(
    "contacts",
    metadata,
    sa.Column("tenant_id", sa.Text, primary_key=True),
    sa.Column("customer_id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("address", sa.Text, nullable=False),
)

mailings = sa.Table(
    "mailings",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("tenant_id", sa.Text, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
)

messages = sa.Table(
    "messages",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column("tenant_id", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
)
