"""Dead letters: records that could not be handled, kept byte for byte, in the batch's transaction.

A letter with a key blocks that key: later records of it are parked behind it, in order, until the
letter is redriven or discarded. A letter without one (bytes that nobody can read) blocks nothing.
Each change of a letter is mirrored to ``<service>.dlq`` through the outbox.
"""

from base64 import b64decode, b64encode
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.engine import Connection, RowMapping

from services.eventkit import db, outbox, tables
from services.eventkit.codec import Codec
from services.eventkit.envelope import Envelope, InvalidEnvelope, RawHeaders
from services.eventkit.ids import derived
from services.eventkit.outbox import OutboxRow
from services.eventkit.records import RawRecord

DEAD, PARKED, QUARANTINED = "dead", "parked", "quarantined"
REDRIVEN, DISCARDED = "redriven", "discarded"
OPEN = (DEAD, PARKED, QUARANTINED)
NO_TENANT = "unknown"
_ERROR_LENGTH = 2000
_MIRRORED = 400_000
"""Bytes of a record's value, and of its headers, on the dlq topic at most."""

_BLOCKED = (
    sa.select(tables.inbox.c.key)
    .where(
        tables.inbox.c.key == sa.any_(sa.bindparam("keys", type_=ARRAY(sa.Text))),
        tables.inbox.c.status != "done",
    )
    .distinct()
)


@dataclass(frozen=True, slots=True)
class Letter:
    """A record put aside. ``key`` is None where it blocks nothing; ``attempts`` counts its tries.

    ``reason`` is a short label to group by; the errors are texts for people.
    """

    message_id: UUID
    record: RawRecord
    key: str | None
    tenant_id: str
    event_type: str | None
    status: str
    reason: str
    first_error: str
    last_error: str
    attempts: int
    failed_at: datetime

    def failed_again(self, reason: str, error: str, limit: int) -> "Letter":
        """After one more failure: the same letter, quarantined once it has failed too often."""
        attempts = self.attempts + 1
        return replace(
            self,
            status=QUARANTINED if attempts > limit else DEAD,
            reason=reason,
            first_error=self.first_error if self.attempts else error[:_ERROR_LENGTH],
            last_error=error[:_ERROR_LENGTH],
            attempts=attempts,
        )


def put_aside(
    message_id: UUID,
    record: RawRecord,
    envelope: Envelope | None,
    key: str | None,
    status: str,
    reason: str,
    error: str,
    now: datetime,
) -> Letter:
    """A new letter."""
    return Letter(
        message_id=message_id,
        record=record,
        key=key,
        tenant_id=envelope.tenant_id if envelope else NO_TENANT,
        event_type=envelope.event_type if envelope else None,
        status=status,
        reason=reason,
        first_error=error[:_ERROR_LENGTH],
        last_error=error[:_ERROR_LENGTH],
        attempts=1 if status == DEAD else 0,
        failed_at=now,
    )


def blocked_keys(conn: Connection, keys: Collection[str]) -> set[str]:
    """Those of the keys that have a letter or a parked record. Their locks must be held."""
    if not keys:
        return set()
    return set(conn.execute(_BLOCKED, {"keys": sorted(keys)}).scalars())


def store(
    conn: Connection, service: str, codec: Codec, letters: Sequence[Letter], now: datetime
) -> None:
    """Writes new letters, marks their inbox rows, and mirrors the dead ones to the dlq topic."""
    if not letters:
        return
    db.insert_rows(conn, tables.dead_letters, [_row(letter) for letter in letters])
    for status in (DEAD, PARKED):
        ids = [letter.message_id for letter in letters if letter.status == status]
        if ids:
            _mark_inbox(conn, ids, status)
    dead = [letter for letter in letters if letter.status == DEAD]
    mirror(conn, service, codec, dead, now)


def change(
    conn: Connection, service: str, codec: Codec, letters: Sequence[Letter], now: datetime
) -> None:
    """Writes what became of letters; one that ended, as redriven or discarded, blocks no more."""
    for letter in letters:
        table = tables.dead_letters
        conn.execute(
            sa.update(table)
            .where(table.c.message_id == letter.message_id)
            .values(
                key=letter.key,
                status=letter.status,
                reason=letter.reason,
                first_error=letter.first_error,
                last_error=letter.last_error,
                attempts=letter.attempts,
                updated_at=now,
            )
        )
        inbox_status = {PARKED: PARKED, DEAD: DEAD, QUARANTINED: DEAD}.get(letter.status, "done")
        _mark_inbox(conn, [letter.message_id], inbox_status, letter.key)
    ended_or_failed = [letter for letter in letters if letter.status != PARKED]
    mirror(conn, service, codec, ended_or_failed, now)


def mirror(
    conn: Connection, service: str, codec: Codec, letters: Sequence[Letter], now: datetime
) -> None:
    """Says on the dlq topic what became of letters; the rows are the caller's."""
    outbox.add(conn, [_mirror(service, codec, letter, now) for letter in letters])


def letter_of(row: RowMapping) -> Letter:
    """A stored letter, its record as it was read."""
    headers = [
        (name, None if value is None else b64decode(value)) for name, value in row["record_headers"]
    ]
    record = RawRecord(
        row["topic"],
        row["partition"],
        row["offset"],
        row["record_key"],
        row["record_value"],
        headers,
    )
    names = Letter.__dataclass_fields__.keys() - {"record"}
    return Letter(record=record, **{name: row[name] for name in names})


def _mark_inbox(conn: Connection, ids: Sequence[UUID], status: str, key: str | None = None) -> None:
    values = {"status": status} | ({"key": key} if key else {})
    conn.execute(sa.update(tables.inbox).where(tables.inbox.c.message_id.in_(ids)).values(values))


def _row(letter: Letter) -> dict[str, Any]:
    record = letter.record
    return {
        "message_id": letter.message_id,
        "key": letter.key,
        "tenant_id": letter.tenant_id,
        "event_type": letter.event_type,
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
        "first_error": letter.first_error,
        "last_error": letter.last_error,
        "attempts": letter.attempts,
        "failed_at": letter.failed_at,
    }


def _as_far_as_it_fits(record: RawRecord) -> tuple[RawHeaders, bytes | None]:
    """What of a record is mirrored; the row has all of it.

    A producer sends no message of more than 1 MiB, and one that cannot be sent stops all behind it.
    """
    size = sum(len(name) + len(value or b"") for name, value in record.headers)
    headers = record.headers if size <= _MIRRORED else ()
    return headers, record.value if len(record.value or b"") <= _MIRRORED else None


def _mirror(service: str, codec: Codec, letter: Letter, now: datetime) -> OutboxRow:
    record = letter.record
    headers, value = _as_far_as_it_fits(record)
    try:
        cause = Envelope.from_headers(record.headers)
    except InvalidEnvelope:
        cause = None
    fields = {
        "service": service,
        "message_id": str(letter.message_id),
        "tenant_id": letter.tenant_id,
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "key": record.key,
        "headers": [{"name": name, "value": value} for name, value in headers],
        "value": value,
        "reason": letter.reason,
        "first_error": letter.first_error,
        "last_error": letter.last_error,
        "attempts": letter.attempts,
        "failed_at": letter.failed_at,
        "updated_at": now,
        "status": letter.status,
    }
    # The place is in it for jobs: at each redrive their attempts begin at one again.
    state = f"dead-letter:{letter.status}@{record.offset}"
    envelope = Envelope(
        message_id=derived(service, letter.message_id, state, letter.attempts),
        event_type="DeadLetter",
        source=f"/services/{service}",
        time=now,
        subject=letter.key or str(letter.message_id),
        correlation_id=cause.correlation_id if cause else str(letter.message_id),
        causation_id=str(letter.message_id),
        sequence=0,
        schema_version=codec.version_of("DeadLetter"),
        tenant_id=letter.tenant_id,
        actor_id=f"/services/{service}",
        traceparent=cause.traceparent if cause else None,
    )
    return OutboxRow(envelope, f"{service}.dlq", codec.encode("DeadLetter", fields))
