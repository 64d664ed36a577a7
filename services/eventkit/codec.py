"""Event fields to bytes and back: Avro in the Confluent wire format, strict in both directions.

One framing everywhere: a zero byte, the writer's schema id as four bytes big-endian, the Avro body.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from io import BytesIO
from typing import Any

from fastavro import parse_schema, schemaless_reader, schemaless_writer
from fastavro.read import SchemaResolutionError
from fastavro.schema import SchemaParseException
from fastavro.types import Schema as ParsedSchema
from fastavro.validation import ValidationError, validate

from services.eventkit.registry import Registry, RegistryUnavailable
from services.eventkit.schemas import Schema, Schemas, digest, full_name

_MAGIC = b"\x00"
_HEADER = 5

Fields = dict[str, Any]


class EncodingError(ValueError):
    """The fields are not exactly those of the event's schema."""


class SchemaMismatch(Exception):
    """The registry and ``schemas/ids.lock`` disagree: a service must not start."""


class Undecodable(ValueError):
    """Bytes that will never decode as the event they claim to be; ``reason`` is a short label."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class Codec:
    """Encodes with our schema of an event type; decodes whatever version wrote the record.

    Without a ``registry_url`` only our own versions and the given ``writer_schemas`` (by id) are
    known: enough for tests of rules and for tools that read only our own records.
    """

    def __init__(
        self,
        schemas: Schemas,
        registry_url: str | None = None,
        writer_schemas: Mapping[int, Any] | None = None,
    ) -> None:
        self._schemas = schemas
        self._registry = Registry(registry_url) if registry_url else None
        self._writers: dict[int, Any] = {s.id: s.parsed for s in schemas.values()}
        for schema_id, writer in (writer_schemas or {}).items():
            self._writers[schema_id] = parse_schema(writer)

    def start(self) -> None:
        """Checks that the registry has every schema under its locked id.

        Raises `SchemaMismatch` naming the subject, or `RegistryUnavailable`.
        """
        if self._registry is None:
            return
        for schema in self._schemas.values():
            found = self._registry.id_of(schema.full_name, schema.text)
            if found != schema.id:
                raise SchemaMismatch(
                    f"the registry has {schema.full_name} under id {found}, ids.lock says "
                    f"{schema.id}; to fill the registry: python -m infra.registry.provision"
                )

    def version_of(self, event_type: str) -> str:
        """The contract version that `encode` writes; raises `EncodingError` for no known type."""
        return self._ours(event_type, EncodingError).version

    def encode(self, event_type: str, data: Mapping[str, Any]) -> bytes:
        """The record value of an event; times are cut to milliseconds.

        Raises `EncodingError` for a missing, extra or misspelt field, a value of another type
        (nothing is converted or rounded) and a time without a zone.
        """
        schema = self._ours(event_type, EncodingError)
        body = BytesIO()
        try:
            _refuse_naive(data)
            # The writer alone would store 1.5 and True as the number 1.
            validate(data, schema.parsed, strict=True)
            schemaless_writer(body, schema.parsed, data, strict=True)
        except (ValidationError, ValueError, TypeError, OverflowError) as error:
            raise EncodingError(f"{event_type}: {error}") from error
        return _MAGIC + schema.id.to_bytes(4, "big") + body.getvalue()

    def decode(self, event_type: str, raw: bytes | None) -> Fields:
        """The fields of a record, as our version of the schema has them.

        Raises `Undecodable`, or `RegistryUnavailable` when the writer's schema is not cached.
        """
        schema = self._ours(event_type, _unknown_type)
        schema_id, body = _unframe(raw)
        writer = self._writer(schema_id)
        if full_name(writer) != schema.full_name:
            raise Undecodable("wrong_record", f"{full_name(writer)} is not {schema.full_name}")
        return _read(body, writer, None if schema_id == schema.id else schema.parsed)

    def _ours(self, event_type: str, error: Any) -> Schema:
        try:
            return self._schemas[event_type]
        except KeyError:
            raise error(f"no schema for event type {event_type!r}") from None

    def _writer(self, schema_id: int) -> Any:
        writer = self._writers.get(schema_id)
        if writer is None:
            writer = self._writers[schema_id] = self._fetch(schema_id)
        return writer

    def _fetch(self, schema_id: int) -> ParsedSchema:
        text = self._registry.text_of(schema_id) if self._registry else None
        locked = self._schemas.lock.get(schema_id)
        if text is None and locked and self._registry:
            # We released this id, so it is the registry that is wrong, not the record.
            raise RegistryUnavailable(f"the registry has no id {schema_id} ({locked.subject})")
        if text is None:
            raise Undecodable("unknown_schema", f"no schema has id {schema_id}")
        declared = _declared_record(schema_id, text)
        if locked and digest(declared) != locked.sha256:
            raise RegistryUnavailable(f"the registry's id {schema_id} is not {locked.subject}")
        return parse_schema(declared)


def _unframe(raw: bytes | None) -> tuple[int, bytes]:
    if raw is None:
        raise Undecodable("no_value", "the record has no value")
    if len(raw) < _HEADER or raw[:1] != _MAGIC:
        raise Undecodable("not_avro", f"no schema id in front: {raw[:_HEADER]!r}")
    return int.from_bytes(raw[1:_HEADER], "big"), raw[_HEADER:]


def _read(body: bytes, writer: Any, reader: Any) -> Fields:
    stream = BytesIO(body)
    try:
        fields: Any = schemaless_reader(stream, writer, reader)
    except (EOFError, IndexError) as error:
        raise Undecodable("truncated", str(error)) from error
    except SchemaResolutionError as error:
        raise Undecodable("incompatible", str(error)) from error
    except Exception as error:
        # Reading bytes is pure, so whatever goes wrong here is wrong with these bytes.
        raise Undecodable("corrupt", f"{type(error).__name__}: {error}") from error
    left = len(body) - stream.tell()
    if left:
        raise Undecodable("trailing_bytes", f"{left} bytes after the record")
    return dict(fields)


def _declared_record(schema_id: int, text: str) -> Any:
    try:
        declared = json.loads(text)
        full_name(parse_schema(declared))  # type: ignore[arg-type]
    except (ValueError, TypeError, KeyError, SchemaParseException) as error:
        raise Undecodable("unknown_schema", f"id {schema_id} is no record schema") from error
    return declared


def _refuse_naive(value: Any) -> None:
    if isinstance(value, datetime) and value.tzinfo is None:
        raise EncodingError(f"time without a zone: {value.isoformat()}")
    if isinstance(value, Mapping):
        for item in value.values():
            _refuse_naive(item)
    elif isinstance(value, list | tuple):
        for item in value:
            _refuse_naive(item)


def _unknown_type(detail: str) -> Undecodable:
    return Undecodable("unknown_type", detail)
