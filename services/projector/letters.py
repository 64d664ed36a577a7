"""Dead letters of the projector: rows only, since without an outbox nothing mirrors them."""

from base64 import b64encode
from typing import Any

from services.eventkit.dead_letters import DEAD, Letter
from services.eventkit.records import Poison

_ERROR_LENGTH = 2000


def of_poison(poison: Poison) -> Letter:
    """The letter of a record that nobody can read; no order waits for it."""
    return Letter(
        message_id=poison.id,
        record=poison.record,
        envelope=poison.envelope,
        key=None,
        status=DEAD,
        reason=poison.reason,
        error=poison.error,
    )


def row(letter: Letter) -> dict[str, Any]:
    """The row that keeps the record byte for byte."""
    record = letter.record
    return {
        "message_id": letter.message_id,
        "key": letter.key,
        "tenant_id": _text(letter.tenant_id),
        "event_type": _text(letter.envelope.event_type) if letter.envelope else None,
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "record_key": record.key,
        "record_headers": [
            [_text(name), None if value is None else b64encode(value).decode()]
            for name, value in record.headers
        ],
        "record_value": record.value,
        "status": letter.status,
        "reason": letter.reason,
        "first_error": _text(letter.error)[:_ERROR_LENGTH],
        "last_error": _text(letter.error)[:_ERROR_LENGTH],
        "attempts": 1,
    }


def _text(text: str) -> str:
    """PostgreSQL stores no NUL: a letter must be storable, whatever is in its record."""
    return text.replace("\x00", "\\0")
