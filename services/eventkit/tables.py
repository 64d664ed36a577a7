"""The technical tables that every service has; the SQL that makes them is in `ddl`."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

metadata = sa.MetaData()
_Time = sa.DateTime(timezone=True)

keys = sa.Table("keys", metadata, sa.Column("key", sa.Text, primary_key=True))

inbox = sa.Table(
    "inbox",
    metadata,
    sa.Column("message_id", sa.Uuid, primary_key=True),
    sa.Column("key", sa.Text),
    sa.Column("event_type", sa.Text),
    sa.Column("topic", sa.Text, nullable=False),
    sa.Column("partition", sa.Integer, nullable=False),
    sa.Column("offset", sa.BigInteger, nullable=False),
    sa.Column("tenant_id", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("received_at", _Time, server_default=sa.func.now()),
)

outbox = sa.Table(
    "outbox",
    metadata,
    sa.Column("seq", sa.BigInteger, sa.Identity(always=True)),
    sa.Column("message_id", sa.Uuid, primary_key=True),
    sa.Column("topic", sa.Text, nullable=False),
    sa.Column("aggregate_id", sa.Text, nullable=False),
    sa.Column("event_type", sa.Text, nullable=False),
    sa.Column("specversion", sa.Text, server_default="1.0"),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("event_time", sa.Text, nullable=False),
    sa.Column("subject", sa.Text, nullable=False),
    sa.Column("correlation_id", sa.Text, nullable=False),
    sa.Column("causation_id", sa.Text),
    sa.Column("sequence", sa.BigInteger, nullable=False),
    sa.Column("schema_version", sa.Text, nullable=False),
    sa.Column("tenant_id", sa.Text, nullable=False),
    sa.Column("actor_id", sa.Text, nullable=False),
    sa.Column("traceparent", sa.Text),
    sa.Column("payload", sa.LargeBinary, nullable=False),
    sa.Column("created_at", sa.DateTime),
)

jobs = sa.Table(
    "jobs",
    metadata,
    sa.Column("job_id", sa.Uuid, primary_key=True),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("args", JSONB, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("priority", sa.Integer, nullable=False),
    sa.Column("run_at", _Time, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("redrives", sa.Integer, server_default="0"),
    sa.Column("locked_by", sa.Text),
    sa.Column("locked_until", _Time),
    sa.Column("tenant_id", sa.Text, nullable=False),
    sa.Column("actor_id", sa.Text, nullable=False),
    sa.Column("correlation_id", sa.Text, nullable=False),
    sa.Column("causation_id", sa.Text),
    sa.Column("traceparent", sa.Text),
    sa.Column("last_error", sa.Text),
    sa.Column("created_at", _Time, server_default=sa.func.now()),
    sa.Column("finished_at", _Time),
)

dead_letters = sa.Table(
    "dead_letters",
    metadata,
    sa.Column("seq", sa.BigInteger, sa.Identity(always=True)),
    sa.Column("message_id", sa.Uuid, primary_key=True),
    sa.Column("key", sa.Text),
    sa.Column("tenant_id", sa.Text, nullable=False),
    sa.Column("event_type", sa.Text),
    sa.Column("topic", sa.Text, nullable=False),
    sa.Column("partition", sa.Integer, nullable=False),
    sa.Column("offset", sa.BigInteger, nullable=False),
    sa.Column("record_key", sa.LargeBinary),
    sa.Column("record_headers", JSONB, nullable=False),
    sa.Column("record_value", sa.LargeBinary),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("first_error", sa.Text, nullable=False),
    sa.Column("last_error", sa.Text, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("failed_at", _Time, server_default=sa.func.now()),
    sa.Column("updated_at", _Time, server_default=sa.func.now()),
)

decisions = sa.Table(
    "decisions",
    metadata,
    sa.Column("id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    sa.Column("made_at", _Time, server_default=sa.func.now()),
    sa.Column("made_by", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("subject", sa.Text, nullable=False),
    sa.Column("why", sa.Text, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),
)

idempotency_keys = sa.Table(
    "idempotency_keys",
    metadata,
    sa.Column("tenant_id", sa.Text, primary_key=True),
    sa.Column("route", sa.Text, primary_key=True),
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("status", sa.Integer, nullable=False),
    sa.Column("body", JSONB, nullable=False),
    sa.Column("created_at", _Time, server_default=sa.func.now()),
)
