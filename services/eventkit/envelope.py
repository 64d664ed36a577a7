"""The CloudEvents envelope that travels in the headers of every record (binary mode).

Header names and meanings follow the CloudEvents 1.0 Kafka protocol binding; ``traceparent`` follows
W3C Trace Context.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID, uuid5

from services.eventkit.ids import NAMESPACE

CONTENT_TYPE = "application/avro"
SPEC_VERSION = "1.0"
_LONGEST = 1000
"""Bytes of a header of ours at most: what identifies a thing must fit into an index."""
_DIGITS = 19
"""A number of fewer digits fits into 64 bits."""

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")

RawHeaders = Sequence[tuple[str, bytes | None]]


class InvalidEnvelope(ValueError):
    """A record whose headers are no valid envelope; ``field`` names the header."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"header {field}: {problem}")
        self.field = field
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Envelope:
    """Who said what, when and because of what. ``time`` is UTC with milliseconds.

    ``sequence`` is the version of the emitting aggregate after this event.
    """

    message_id: UUID
    event_type: str
    source: str
    time: datetime
    subject: str
    correlation_id: str
    causation_id: str | None
    sequence: int
    schema_version: str
    tenant_id: str
    actor_id: str
    traceparent: str | None

    @classmethod
    def from_headers(cls, headers: RawHeaders | None) -> "Envelope":
        """Reads an envelope; a header without a value is absent. Raises `InvalidEnvelope`."""
        fields = _texts(headers or ())
        return cls(
            message_id=_uuid(fields),
            event_type=_required(fields, "ce_type"),
            source=_required(fields, "ce_source"),
            time=parse_time(_required(fields, "ce_time")),
            subject=_required(fields, "ce_subject"),
            correlation_id=_required(fields, "ce_correlationid"),
            causation_id=fields.get("ce_causationid"),
            sequence=_sequence(fields),
            schema_version=_required(fields, "ce_schemaversion"),
            tenant_id=_required(fields, "ce_tenantid"),
            actor_id=_required(fields, "ce_actorid"),
            traceparent=_traceparent(fields),
        )

    def to_headers(self) -> list[tuple[str, bytes]]:
        """The headers as Debezium writes them from an outbox row; absent values are left out."""
        fields = {
            "ce_id": str(self.message_id),
            "ce_specversion": SPEC_VERSION,
            "ce_type": self.event_type,
            "ce_source": self.source,
            "ce_time": format_time(self.time),
            "ce_subject": self.subject,
            "ce_correlationid": self.correlation_id,
            "ce_causationid": self.causation_id,
            "ce_sequence": str(self.sequence),
            "ce_schemaversion": self.schema_version,
            "ce_tenantid": self.tenant_id,
            "ce_actorid": self.actor_id,
            "traceparent": self.traceparent,
            "content-type": CONTENT_TYPE,
        }
        return [(name, value.encode()) for name, value in fields.items() if value is not None]


def message_id_of(topic: str, partition: int, offset: int) -> UUID:
    """The id of a record that carries none of its own: the same at every delivery."""
    return uuid5(NAMESPACE, f"{topic}/{partition}/{offset}")


def event_type_of(headers: RawHeaders | None) -> str | None:
    """The event type alone, without checking the rest: enough to skip what nobody handles."""
    for name, value in headers or ():
        if name == "ce_type" and value is not None:
            return value.decode(errors="replace")
    return None


def format_time(moment: datetime) -> str:
    """RFC 3339 in UTC with milliseconds, such as ``2026-01-31T09:15:00.123Z``."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_time(text: str) -> datetime:
    """The reverse of `format_time`; any offset is accepted, its absence is not."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidEnvelope("ce_time", f"not RFC 3339: {text!r}") from error
    if moment.tzinfo is None:
        raise InvalidEnvelope("ce_time", f"no time zone: {text!r}")
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise InvalidEnvelope("ce_time", f"out of range: {text!r}") from error


def _texts(headers: RawHeaders) -> dict[str, str]:
    fields: dict[str, str] = {}
    for name, value in headers:
        if value is None:
            continue
        ours = name.startswith("ce_")
        if ours and len(value) > _LONGEST:
            raise InvalidEnvelope(name, f"longer than {_LONGEST} bytes")
        try:
            text = value.decode()
        except UnicodeDecodeError as error:
            if ours:
                raise InvalidEnvelope(name, "not UTF-8") from error
            continue
        if ours and "\x00" in text:
            raise InvalidEnvelope(name, "contains a NUL")
        fields[name] = text
    return fields


def _required(fields: dict[str, str], name: str) -> str:
    value = fields.get(name, "")
    if not value:
        raise InvalidEnvelope(name, "missing")
    return value


def _uuid(fields: dict[str, str]) -> UUID:
    text = _required(fields, "ce_id")
    try:
        return UUID(text)
    except ValueError as error:
        raise InvalidEnvelope("ce_id", f"not a UUID: {text!r}") from error


def _traceparent(fields: dict[str, str]) -> str | None:
    """A trace that cannot be read is none: the event is good all the same."""
    value = fields.get("traceparent")
    return value if value and _TRACEPARENT.fullmatch(value) else None


def _sequence(fields: dict[str, str]) -> int:
    text = _required(fields, "ce_sequence")
    if not (text.isascii() and text.isdecimal() and len(text) < _DIGITS):
        raise InvalidEnvelope("ce_sequence", f"not a number: {text!r}")
    return int(text)
