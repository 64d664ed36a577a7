"""An outbox row as the record that Debezium makes of it: pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from infra.connect.config import HEADERS

CONTENT_TYPE = ("content-type", b"application/avro")


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A record to produce; ``timestamp_ms`` is when the row was written."""

    topic: str
    key: bytes
    value: bytes
    headers: list[tuple[str, bytes | None]]
    timestamp_ms: int


def record_of(row: Mapping[str, Any]) -> Outgoing:
    """The record of a row: a column that is NULL becomes a header without a value."""
    headers = [(name, _text(row[column])) for column, name in HEADERS.items()]
    since_epoch: timedelta = row["created_at"] - datetime(1970, 1, 1)  # noqa: DTZ001 - both in UTC
    return Outgoing(
        topic=row["topic"],
        key=row["aggregate_id"].encode(),
        value=bytes(row["payload"]),
        headers=[*headers, CONTENT_TYPE],
        timestamp_ms=since_epoch // timedelta(milliseconds=1),
    )


def _text(value: Any) -> bytes | None:
    return None if value is None else str(value).encode()
