"""Reading a record: a message, or poison with a reason; never an exception."""

from dataclasses import replace

import pytest

from services.eventkit.codec import Codec
from services.eventkit.envelope import Envelope, message_id_of
from services.eventkit.records import Message, Poison, RawRecord, headers_of, read
from services.eventkit.schemas import Schemas
from tests.unit.eventkit.test_envelope import ENVELOPE

CODEC = Codec(Schemas.load())
CONFIRMED = replace(ENVELOPE, event_type="OrderConfirmed")
VALUE = CODEC.encode("OrderConfirmed", {"customer_id": "c", "total": 1, "currency": "EUR"})


def _record(value: bytes | None = VALUE, envelope: Envelope = CONFIRMED) -> RawRecord:
    return RawRecord("order.events", 3, 42, envelope.subject.encode(), value, envelope.to_headers())


def test_a_sound_record_is_a_message() -> None:
    message = read(_record(), CODEC)
    assert isinstance(message, Message)
    assert message.event.data == {"customer_id": "c", "total": 1, "currency": "EUR"}
    assert (message.event.key, message.event.source) == (ENVELOPE.subject, "order.events")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"abcd", "not_avro"),
        (b"", "not_avro"),
        (None, "no_value"),
        (b"\x00\x00\x0f\xff\xff" + VALUE[5:], "unknown_schema"),
        (VALUE[:-3], "truncated"),
        (VALUE + b"!", "trailing_bytes"),
        (CODEC.encode("EmailSent", {"kind": "confirmed"}), "wrong_record"),
    ],
)
def test_c30_what_cannot_be_decoded_is_poison_with_a_reason(
    value: bytes | None, reason: str
) -> None:
    poison = read(_record(value), CODEC)
    assert isinstance(poison, Poison)
    assert poison.reason == reason
    assert poison.record.value == value


def test_without_an_envelope_the_place_is_the_id() -> None:
    poison = read(replace(_record(), headers=[]), CODEC)
    assert isinstance(poison, Poison)
    assert poison.id == message_id_of("order.events", 3, 42)
    assert poison.reason == "envelope"


def test_a_key_that_is_not_the_subject_is_poison() -> None:
    poison = read(replace(_record(), key=b'"quoted"'), CODEC)
    assert isinstance(poison, Poison)
    assert poison.reason == "key"


class BadName:
    """A message with a header whose name is no UTF-8, as the client gives it."""

    def headers(self) -> None:
        raise SystemError("returned a result with an exception set")


def test_a_header_whose_name_cannot_be_read_makes_poison_and_no_crash() -> None:
    record = replace(_record(), headers=headers_of(BadName()))
    found = read(record, CODEC)
    assert isinstance(found, Poison) and found.reason == "envelope"
