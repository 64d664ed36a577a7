"""Dead letters of the projector: rows only, since without an outbox nothing mirrors them.

They block no order: the projection copes with what a record put aside would have told.
"""

from base64 import b64encode
from typing import Any

from services.eventkit.records import Poison

DEAD = "dead"
_NO_TENANT = "unknown"
_ERROR_LENGTH = 2000


def row(poison: Poison) -> dict[str, Any]:
    """The row that keeps the record byte for byte, and why it was put aside."""
    record, envelope = poison.record, poison.envelope
    error = _text(poison.error)[:_ERROR_LENGTH]
    return {
        "message_id": poison.id,
        "key": None,
        "tenant_id": _text(envelope.tenant_id) if envelope else _NO_TENANT,
        "event_type": _text(envelope.event_type) if envelope else None,
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "record_key": record.key,
        "record_headers": [
            [_text(name), None if value is None else b64encode(value).decode()]
            for name, value in record.headers
        ],
        "record_value": record.value,
        "status": DEAD,
        "reason": poison.reason,
        "first_error": error,
        "last_error": error,
        "attempts": 1,
    }


def _text(text: str) -> str:
    """PostgreSQL stores no NUL: a letter must be storable, whatever is in its record."""
    return text.replace("\x00", "\\0")
