"""The tables that generations are kept account of in; the SQL that makes them is in `ddl`."""

import sqlalchemy as sa

metadata = sa.MetaData()
_Time = sa.DateTime(timezone=True)

# Whoever writes the read model share-locks the one row for its transaction.
projection_state = sa.Table(
    "projection_state",
    metadata,
    sa.Column("only_row", sa.Boolean, primary_key=True),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("generation", sa.Integer, nullable=False),
    sa.Column("paused_by", sa.Text),
    sa.Column("paused_until", _Time),
)

paused = sa.func.coalesce(projection_state.c.paused_until > sa.func.now(), sa.false())
"""Whether ``paused_by`` holds the model: a pause is a lease, and whoever died holds nothing."""

generations = sa.Table(
    "generations",
    metadata,
    sa.Column("generation", sa.Integer, primary_key=True),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("begun_at", _Time, server_default=sa.func.now()),
    sa.Column("swapped_at", _Time),
)

# One in the schema of each generation that is not the current one.
generation_offsets = sa.Table(
    "generation_offsets",
    metadata,
    sa.Column("topic", sa.Text, primary_key=True),
    sa.Column("partition", sa.Integer, primary_key=True),
    sa.Column("first_offset", sa.BigInteger, nullable=False),
    sa.Column("next_offset", sa.BigInteger, nullable=False),
    sa.Column("target_offset", sa.BigInteger, nullable=False),
)
