"""What a consumer takes from Kafka: the raw record, and what becomes of reading it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from services.eventkit.codec import Codec, Undecodable
from services.eventkit.decision import Event
from services.eventkit.envelope import Envelope, InvalidEnvelope, RawHeaders, message_id_of
from services.eventkit.positions import Place


@dataclass(frozen=True, slots=True)
class RawRecord:
    """A record as read: nothing decoded, nothing dropped."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: RawHeaders
    published_at: float | None = None
    """When it was written to its topic (Unix seconds); None where nobody said."""
    taken_at: float | None = None
    """When it was taken from there."""


@dataclass(frozen=True, slots=True)
class Message:
    """A record that was read: its envelope and its event."""

    record: RawRecord
    envelope: Envelope
    event: Event

    @property
    def id(self) -> UUID:
        """The message id: what the inbox knows it by."""
        return self.envelope.message_id


@dataclass(frozen=True, slots=True)
class Poison:
    """A record that can never be read; ``reason`` is a short label. It blocks no key."""

    record: RawRecord
    id: UUID
    reason: str
    error: str
    envelope: Envelope | None = None


def headers_of(message: Any) -> RawHeaders:
    """The headers of a message as the client gives them.

    None of them where one has a name that is no UTF-8, which the client raises at: the record is
    one without an envelope.
    """
    try:
        return message.headers() or ()
    except (SystemError, UnicodeDecodeError):
        return ()


def next_offsets(records: Iterable[RawRecord]) -> dict[Place, int]:
    """Behind the highest record of each partition, whatever came twice."""
    found: dict[Place, int] = {}
    for record in records:
        place = (record.topic, record.partition)
        found[place] = max(found.get(place, 0), record.offset + 1)
    return found


def read(record: RawRecord, codec: Codec) -> Message | Poison:
    """Decodes a record; raises `RegistryUnavailable` where only the registry is at fault."""
    try:
        envelope = Envelope.from_headers(record.headers)
    except InvalidEnvelope as error:
        own_id = message_id_of(record.topic, record.partition, record.offset)
        return Poison(record, own_id, "envelope", str(error))
    if record.key is None or record.key.decode(errors="replace") != envelope.subject:
        return Poison(record, envelope.message_id, "key", "the key is not ce_subject", envelope)
    try:
        data = codec.decode(envelope.event_type, record.value)
    except Undecodable as error:
        return Poison(record, envelope.message_id, error.reason, error.detail, envelope)
    return Message(record, envelope, _event(envelope, record.topic, data))


def _event(envelope: Envelope, topic: str, data: Mapping[str, Any]) -> Event:
    return Event(
        id=envelope.message_id,
        type=envelope.event_type,
        key=envelope.subject,
        data=data,
        tenant_id=envelope.tenant_id,
        actor_id=envelope.actor_id,
        correlation_id=envelope.correlation_id,
        time=envelope.time,
        sequence=envelope.sequence,
        source=topic,
    )
