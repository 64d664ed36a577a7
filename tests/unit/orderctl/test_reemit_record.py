"""An outbox row becomes the record that Debezium makes of it."""

from datetime import datetime
from typing import Any
from uuid import UUID

from infra.connect.config import HEADERS
from services.orderctl.reemit.record import record_of

ID = UUID("5c0f6a2e-52a9-5d2e-9d55-3a1b6f0a1c11")


def row(**over: Any) -> dict[str, Any]:
    fields: dict[str, Any] = dict.fromkeys(HEADERS, "text")
    fields |= {"message_id": ID, "sequence": 7, "causation_id": None, "topic": "order.events"}
    fields |= {"aggregate_id": "key-é", "payload": b"\x00\x01", "subject": "key-é"}
    return fields | {"created_at": datetime(2026, 1, 31, 9, 15, 0, 123_999)} | over  # noqa: DTZ001


def test_headers_are_in_the_order_of_the_connector_and_null_has_no_value() -> None:
    record = record_of(row())
    assert [name for name, _ in record.headers] == [*HEADERS.values(), "content-type"]
    values = dict(record.headers)
    assert values["ce_id"] == str(ID).encode()
    assert values["ce_sequence"] == b"7"
    assert values["ce_causationid"] is None
    assert values["content-type"] == b"application/avro"


def test_key_value_and_time_are_the_rows() -> None:
    record = record_of(row())
    assert (record.topic, record.key, record.value) == (
        "order.events",
        "key-é".encode(),
        b"\x00\x01",
    )
    # Milliseconds are cut off, not rounded, as the relay does.
    assert record.timestamp_ms == 1_769_850_900_123
