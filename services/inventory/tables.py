"""Stock, reservations and the lines they hold, imports; the constraints are in the migrations."""

import sqlalchemy as sa

metadata = sa.MetaData()
_Time = sa.DateTime(timezone=True)

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

imports = sa.Table(
    "imports",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("tenant_id", sa.Text, nullable=False),
    sa.Column("mode", sa.Text, nullable=False),
    sa.Column("chunks", sa.Integer, nullable=False),
    sa.Column("lines", sa.BigInteger, nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("requested_at", _Time, nullable=False),
    sa.Column("updated_at", _Time, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("reason", sa.Text),
    sa.Column("done", sa.Integer, nullable=False),
    sa.Column("valid", sa.BigInteger, nullable=False),
    sa.Column("invalid", sa.BigInteger, nullable=False),
    sa.Column("applied", sa.BigInteger, nullable=False),
    sa.Column("ended_at", _Time),
    sa.Column("version", sa.BigInteger, nullable=False),
)

import_chunks = sa.Table(
    "import_chunks",
    metadata,
    sa.Column("import_id", sa.Text, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("first_line", sa.BigInteger, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
)

import_rows = sa.Table(
    "import_rows",
    metadata,
    sa.Column("import_id", sa.Text, primary_key=True),
    sa.Column("chunk", sa.Integer, primary_key=True),
    sa.Column("sku", sa.Text, primary_key=True),
    sa.Column("quantity", sa.BigInteger, nullable=False),
)

import_errors = sa.Table(
    "import_errors",
    metadata,
    sa.Column("import_id", sa.Text, primary_key=True),
    sa.Column("line", sa.BigInteger, primary_key=True),
    sa.Column("row", sa.Text, nullable=False),
    sa.Column("error", sa.Text, nullable=False),
)
