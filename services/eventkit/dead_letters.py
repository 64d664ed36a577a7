"""Dead letters: records that could not be handled, kept byte for byte, in the batch's transaction.

A letter with a key blocks that key: later records of it are parked behind it, in order, until the
letter is redriven. A letter without one (bytes that nobody can read) blocks nothing. Each letter is
mirrored to ``<service>.dlq`` through the outbox.
"""

from base64 import b64encode
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.engine import Connection

from services.eventkit import db, outbox, tables
from services.eventkit.codec import Codec
from services.eventkit.envelope import Envelope
from services.eventkit.ids import derived
from services.eventkit.outbox import OutboxRow
from services.eventkit.records import RawRecord

DEAD, PARKED = "dead", "parked"
NO_TENANT = "unknown"
_ERROR_LENGTH = 2000


@dataclass(frozen=True, slots=True)
class Letter:
    """A record put aside. ``key`` is None where it blocks nothing; ``status`` dead or parked."""

    message_id: UUID
    record: RawRecord
    envelope: Envelope | None
    key: str | None
    status: str
    reason: str
    error: str

    @property
    def tenant_id(self) -> str:
        """The tenant, as far as the record tells."""
        return self.envelope.tenant_id if self.envelope else NO_TENANT


def blocked_keys(conn: Connection, keys: Collection[str]) -> set[str]:
    """Those of the keys that have a letter or a parked record. Their locks must be held."""
    if not keys:
        return set()
    box = tables.inbox.c
    wanted = sa.bindparam("keys", sorted(keys), ARRAY(sa.Text))
    query = sa.select(box.key).where(box.key == sa.any_(wanted), box.status != "done").distinct()
    return set(conn.execute(query).scalars())


def store(
    conn: Connection, service: str, codec: Codec, letters: Sequence[Letter], now: datetime
) -> None:
    """Writes the letters, marks their inbox rows, and mirrors the dead ones to the dlq topic."""
    if not letters:
        return
    db.insert_rows(conn, tables.dead_letters, [_row(letter) for letter in letters])
    for status in (DEAD, PARKED):
        ids = [letter.message_id for letter in letters if letter.status == status]
        if ids:
            conn.execute(
                sa.update(tables.inbox)
                .where(tables.inbox.c.message_id.in_(ids))
                .values(status=status)
            )
    dead = [letter for letter in letters if letter.status == DEAD]
    outbox.add(conn, [_mirror(service, codec, letter, now) for letter in dead])


def _row(letter: Letter) -> dict[str, Any]:
    record = letter.record
    return {
        "message_id": letter.message_id,
        "key": letter.key,
        "tenant_id": letter.tenant_id,
        "event_type": letter.envelope.event_type if letter.envelope else None,
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "record_key": record.key,
        "record_headers": [
            [name, None if value is None else b64encode(value).decode()]
            for name, value in record.headers
        ],
        "record_value": record.value,
        "status": letter.status,
        "reason": letter.reason,
        "first_error": letter.error[:_ERROR_LENGTH],
        "last_error": letter.error[:_ERROR_LENGTH],
        "attempts": 1 if letter.status == DEAD else 0,
    }


def _mirror(service: str, codec: Codec, letter: Letter, now: datetime) -> OutboxRow:
    record, cause = letter.record, letter.envelope
    subject = letter.key or str(letter.message_id)
    payload = codec.encode(
        "DeadLetter",
        {
            "service": service,
            "message_id": str(letter.message_id),
            "tenant_id": letter.tenant_id,
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "key": record.key,
            "headers": [{"name": name, "value": value} for name, value in record.headers],
            "value": record.value,
            "reason": letter.reason,
            "first_error": letter.error[:_ERROR_LENGTH],
            "last_error": letter.error[:_ERROR_LENGTH],
            "attempts": 1,
            "failed_at": now,
            "updated_at": now,
            "status": letter.status,
        },
    )
    envelope = Envelope(
        message_id=derived(service, letter.message_id, "dead-letter"),
        event_type="DeadLetter",
        source=f"/services/{service}",
        time=now,
        subject=subject,
        correlation_id=cause.correlation_id if cause else str(letter.message_id),
        causation_id=str(letter.message_id),
        sequence=0,
        schema_version=codec.version_of("DeadLetter"),
        tenant_id=letter.tenant_id,
        actor_id=f"/services/{service}",
        traceparent=cause.traceparent if cause else None,
    )
    return OutboxRow(envelope, f"{service}.dlq", payload)
