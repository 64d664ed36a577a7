"""The tables of the read model; the SQL that makes them is in `migrations`.

The columns of the first three are the fields of `views.OrderView`, `search.OrderSearch` and
`views.TimelineEntry`. Rows
depend on events alone, never on a clock, so a replay gives them back as they were. No statement
names a schema: another generation is the same tables under another one (`search_path`).
"""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB, TSVECTOR

metadata = sa.MetaData()
_Time = sa.DateTime(timezone=True)

order_view = sa.Table(
    "order_view",
    metadata,
    sa.Column("order_id", sa.Uuid, primary_key=True),
    sa.Column("tenant_id", sa.Text, nullable=False),
    sa.Column("began_at", _Time, nullable=False),
    sa.Column("updated_at", _Time, nullable=False),
    sa.Column("customer_id", sa.Text),
    sa.Column("currency", sa.Text),
    sa.Column("total", sa.BigInteger),
    sa.Column("lines", JSONB(none_as_null=True)),
    sa.Column("pay_by", _Time),
    sa.Column("placed_at", _Time),
    sa.Column("ended_at", _Time),
    sa.Column("status", sa.Text),
    sa.Column("reason", sa.Text),
    sa.Column("order_sequence", sa.BigInteger, nullable=False),
    sa.Column("reservation_status", sa.Text),
    sa.Column("short", JSONB(none_as_null=True)),
    sa.Column("reservation_sequence", sa.BigInteger, nullable=False),
    sa.Column("payment_id", sa.Text),
    sa.Column("payment_status", sa.Text),
    sa.Column("payment_reason", sa.Text),
    sa.Column("captured", sa.BigInteger),
    sa.Column("refunded", sa.BigInteger),
    sa.Column("payment_sequence", sa.BigInteger, nullable=False),
    sa.Column("message_kind", sa.Text),
    sa.Column("message_status", sa.Text),
    sa.Column("message_reason", sa.Text),
    sa.Column("message_sequence", sa.BigInteger, nullable=False),
)

order_search = sa.Table(
    "order_search",
    metadata,
    sa.Column("order_id", sa.Uuid, primary_key=True),
    sa.Column("tenant_id", sa.Text, nullable=False),
    sa.Column("words", sa.Text, nullable=False),
    sa.Column("document", TSVECTOR, sa.Computed("to_tsvector('simple'::regconfig, words)")),
)

order_timeline = sa.Table(
    "order_timeline",
    metadata,
    sa.Column("order_id", sa.Uuid, primary_key=True),
    sa.Column("message_id", sa.Uuid, primary_key=True),
    sa.Column("tenant_id", sa.Text, nullable=False),
    sa.Column("event_type", sa.Text, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("sequence", sa.BigInteger, nullable=False),
    sa.Column("time", _Time, nullable=False),
    sa.Column("correlation_id", sa.Text, nullable=False),
    sa.Column("causation_id", sa.Text),
    sa.Column("actor_id", sa.Text, nullable=False),
    sa.Column("topic", sa.Text, nullable=False),
    sa.Column("partition", sa.Integer, nullable=False),
    sa.Column("offset", sa.BigInteger, nullable=False),
    sa.Column("data", JSONB, nullable=False),
)

projection_offsets = sa.Table(
    "projection_offsets",
    metadata,
    sa.Column("topic", sa.Text, primary_key=True),
    sa.Column("partition", sa.Integer, primary_key=True),
    sa.Column("next_offset", sa.BigInteger, nullable=False),
)
