"""Outbox: an event is a row of the transaction that decided it; Debezium carries it to its topic.

The payload is already Avro in Confluent framing, so what the service encoded is byte for byte what
consumers read. Pattern: transactional outbox (Richardson, microservices.io).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.engine import Connection

from services.eventkit import db, tables
from services.eventkit.envelope import Envelope, format_time


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """An encoded event on its way: the envelope, the topic, and the Avro bytes."""

    envelope: Envelope
    topic: str
    payload: bytes


def add(conn: Connection, rows: Sequence[OutboxRow]) -> None:
    """Stores the rows in one statement, in order."""
    db.insert_rows(conn, tables.outbox, [_columns(row) for row in rows])


def _columns(row: OutboxRow) -> dict[str, Any]:
    envelope = row.envelope
    return {
        "message_id": envelope.message_id,
        "topic": row.topic,
        "aggregate_id": envelope.subject,
        "event_type": envelope.event_type,
        "source": envelope.source,
        "event_time": format_time(envelope.time),
        "subject": envelope.subject,
        "correlation_id": envelope.correlation_id,
        "causation_id": envelope.causation_id,
        "sequence": envelope.sequence,
        "schema_version": envelope.schema_version,
        "tenant_id": envelope.tenant_id,
        "actor_id": envelope.actor_id,
        "traceparent": envelope.traceparent,
        "payload": row.payload,
    }
