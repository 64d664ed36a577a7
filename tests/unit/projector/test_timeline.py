"""What a message becomes on the timeline."""

import json
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from services.eventkit.codec import Codec
from services.eventkit.envelope import Envelope
from services.eventkit.records import Message, Poison, RawRecord, read
from services.eventkit.schemas import Schemas
from services.projector.timeline import entry_of, is_projected
from services.projector.views import PROJECTIONS

SCHEMAS = Schemas.load()
CODEC = Codec(SCHEMAS)
PLACED = {
    "customer_id": "c-1",
    "currency": "EUR",
    "total": 1500,
    "payment_token": "tok_ok",
    "pay_by": datetime(2026, 3, 1, 12, 15, tzinfo=UTC),
    "lines": [{"sku": "CUP", "quantity": 2, "unit_price": 750}],
}


def message(key: str) -> Message:
    envelope = Envelope(
        message_id=uuid4(),
        event_type="OrderPlaced",
        source="/services/order",
        time=datetime(2026, 3, 1, 12, 0, tzinfo=UTC),
        subject=key,
        correlation_id="req-1",
        causation_id=None,
        sequence=1,
        schema_version="1",
        tenant_id="demo",
        actor_id="c-1",
        traceparent=None,
    )
    value = CODEC.encode("OrderPlaced", PLACED)
    record = RawRecord("order.events", 2, 7, key.encode(), value, envelope.to_headers())
    found = read(record, CODEC)
    assert isinstance(found, Message)
    return found


def test_an_entry_is_plain_and_knows_its_place_on_the_topic() -> None:
    entry = entry_of(message(str(uuid4())))
    assert not isinstance(entry, Poison)
    assert (entry.topic, entry.partition, entry.offset) == ("order.events", 2, 7)
    assert json.loads(json.dumps(dict(entry.data))) == entry.data
    assert entry.data["pay_by"] == "2026-03-01T12:15:00.000Z"


def test_a_payment_token_stays_off_the_timeline() -> None:
    entry = entry_of(message(str(uuid4())))
    assert not isinstance(entry, Poison)
    assert "payment_token" not in entry.data


def test_a_key_that_is_no_order_id_is_poison() -> None:
    entry = entry_of(message("order-7"))
    assert isinstance(entry, Poison)
    assert entry.reason == "key"


@pytest.mark.parametrize("event_type", sorted(set(SCHEMAS) - {"DeadLetter", "ReportReady"}))
def test_every_event_of_an_order_is_projected(event_type: str) -> None:
    assert is_projected(event_type)


def test_nothing_else_is() -> None:
    assert set(PROJECTIONS) == set(SCHEMAS) - {"DeadLetter", "ReportReady"}
