"""Inbox: the ids of the messages a service has taken, so that a repeat has no second effect.

Pattern: idempotent consumer (Richardson, microservices.io).
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy.engine import Connection

from services.eventkit import db, tables
from services.eventkit.records import Message, Poison


def take(conn: Connection, messages: Sequence[Message | Poison]) -> set[UUID]:
    """Enters the ids in one statement; returns those that were new.

    An id that is already there, and a repeat inside the batch, are duplicates.
    """
    first = {message.id: message for message in reversed(messages)}
    ordered = [first[message_id] for message_id in sorted(first)]
    rows = [_row(message) for message in ordered]
    return set(db.insert_new_rows(conn, tables.inbox, rows, tables.inbox.c.message_id))


def _row(message: Message | Poison) -> dict[str, Any]:
    record, envelope = message.record, message.envelope
    return {
        "message_id": message.id,
        "key": message.event.key if isinstance(message, Message) else None,
        "event_type": envelope.event_type if envelope else None,
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "tenant_id": envelope.tenant_id if envelope else "unknown",
        "status": "done",
    }
