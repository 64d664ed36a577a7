"""The codec without a registry: what it writes, what it refuses, and what it calls undecodable."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import pytest
from fastavro import parse_schema

from services.eventkit.codec import Codec, EncodingError, Undecodable
from services.eventkit.schemas import Schemas

SCHEMAS = Schemas.load()
CODEC = Codec(SCHEMAS)
PLACED: dict[str, Any] = {
    "customer_id": "c-1",
    "currency": "EUR",
    "total": 4500,
    "payment_token": "tok_ok",
    "pay_by": datetime(2026, 1, 31, 9, 15, 0, 123000, tzinfo=UTC),
    "lines": [
        {"sku": "A", "quantity": 2, "unit_price": 1500},
        {"sku": "Ä", "quantity": 1, "unit_price": 1500},
    ],
}
RAW = CODEC.encode("OrderPlaced", PLACED)


def with_field(name: str, **field: Any) -> dict[str, Any]:
    """The schema of EmailSent with one more field."""
    schema: dict[str, Any] = json.loads(SCHEMAS["EmailSent"].text)
    return {**schema, "fields": [*schema["fields"], {"name": name, **field}]}


def reason_of(event_type: str, raw: bytes | None, codec: Codec = CODEC) -> str:
    with pytest.raises(Undecodable) as caught:
        codec.decode(event_type, raw)
    return caught.value.reason


def test_round_trip_keeps_every_field() -> None:
    assert CODEC.decode("OrderPlaced", RAW) == PLACED


def test_framing_is_a_zero_byte_and_the_locked_id() -> None:
    assert RAW[:5] == b"\x00" + SCHEMAS["OrderPlaced"].id.to_bytes(4, "big")


def test_same_fields_make_the_same_bytes() -> None:
    assert CODEC.encode("OrderPlaced", MappingProxyType(PLACED)) == RAW


def test_times_are_cut_to_milliseconds() -> None:
    finer = PLACED["pay_by"].replace(microsecond=123999)
    assert CODEC.encode("OrderPlaced", {**PLACED, "pay_by": finer}) == RAW


@pytest.mark.parametrize("field", list(PLACED))
def test_c50_a_missing_field_is_refused(field: str) -> None:
    left = {name: value for name, value in PLACED.items() if name != field}
    with pytest.raises(EncodingError, match=field):
        CODEC.encode("OrderPlaced", left)


@pytest.mark.parametrize("field", list(PLACED))
def test_c50_a_misspelt_field_is_refused(field: str) -> None:
    misspelt = {name + "x" * (name == field): value for name, value in PLACED.items()}
    with pytest.raises(EncodingError, match=field):
        CODEC.encode("OrderPlaced", misspelt)


def test_c50_a_missing_field_is_refused_even_if_it_has_a_default() -> None:
    newer = parse_schema(with_field("language", type="string", default=""))
    schemas = Schemas({"EmailSent": replace(SCHEMAS["EmailSent"], parsed=newer)}, {})
    with pytest.raises(EncodingError, match="language"):
        Codec(schemas).encode("EmailSent", {"kind": "confirmed"})


def test_c50_fields_of_lines_are_checked_too() -> None:
    line = PLACED["lines"][0]
    for wrong in ({**line, "extra": 1}, {"sku": "A", "quantity": 1}, {**line, "sku": None}):
        with pytest.raises(EncodingError):
            CODEC.encode("OrderPlaced", {**PLACED, "lines": [wrong]})


@pytest.mark.parametrize("total", [1.5, True, "45", None, 2**63, -(2**63) - 1])
def test_c52_amounts_are_never_converted_or_rounded(total: Any) -> None:
    with pytest.raises(EncodingError, match="total"):
        CODEC.encode("OrderPlaced", {**PLACED, "total": total})


@pytest.mark.parametrize("amount", [0, -1, 2**63 - 1])
def test_c52_every_whole_amount_survives(amount: int) -> None:
    raw = CODEC.encode("OrderPlaced", {**PLACED, "total": amount})
    assert CODEC.decode("OrderPlaced", raw)["total"] == amount


def test_c52_a_quantity_beyond_the_schema_is_refused() -> None:
    line = {"sku": "A", "quantity": 2**31, "unit_price": 1}
    with pytest.raises(EncodingError, match="quantity"):
        CODEC.encode("OrderPlaced", {**PLACED, "lines": [line]})


def test_a_time_without_a_zone_is_refused() -> None:
    naive = PLACED["pay_by"].replace(tzinfo=None)
    with pytest.raises(EncodingError, match="without a zone"):
        CODEC.encode("OrderPlaced", {**PLACED, "pay_by": naive})


def test_text_that_is_no_unicode_is_refused() -> None:
    with pytest.raises(EncodingError):
        CODEC.encode("EmailSent", {"kind": "\ud800"})


def test_an_event_type_without_a_schema_is_refused() -> None:
    with pytest.raises(EncodingError, match="OrderLost"):
        CODEC.encode("OrderLost", {})
    assert reason_of("OrderLost", RAW) == "unknown_type"


@pytest.mark.parametrize("raw", [b"", b"abcd", b"\x00\x00\x03", b"\x01" + RAW[1:], b"{}" * 9])
def test_bytes_without_our_framing_are_not_avro(raw: bytes) -> None:
    assert reason_of("OrderPlaced", raw) == "not_avro"


def test_a_record_without_a_value_is_undecodable() -> None:
    assert reason_of("OrderPlaced", None) == "no_value"


def test_an_unknown_id_is_undecodable() -> None:
    assert reason_of("OrderPlaced", b"\x00\x7f\xff\xff\xff" + RAW[5:]) == "unknown_schema"


def test_another_event_is_the_wrong_record() -> None:
    assert reason_of("OrderConfirmed", RAW) == "wrong_record"


@pytest.mark.parametrize("length", range(5, len(RAW)))
def test_a_record_cut_anywhere_is_truncated(length: int) -> None:
    assert reason_of("OrderPlaced", RAW[:length]) == "truncated"


@pytest.mark.parametrize("extra", [b"\x00", b"junk", RAW])
def test_bytes_after_the_record_are_undecodable(extra: bytes) -> None:
    assert reason_of("OrderPlaced", RAW + extra) == "trailing_bytes"


def test_text_that_is_no_utf8_is_corrupt() -> None:
    raw = CODEC.encode("EmailSent", {"kind": "ab"})
    assert reason_of("EmailSent", raw[:-2] + b"\xc3\x28") == "corrupt"


def test_c49_records_of_an_older_and_a_newer_version_both_decode() -> None:
    older = {**json.loads(SCHEMAS["EmailSent"].text), "fields": []}
    newer = with_field("language", type=["null", "string"], default=None)
    codec = Codec(SCHEMAS, writer_schemas={7: newer})
    sent = CODEC.encode("EmailSent", {"kind": "confirmed"})
    from_newer = b"\x00\x00\x00\x00\x07" + sent[5:] + b"\x02\x04de"

    assert codec.decode("EmailSent", sent) == {"kind": "confirmed"}
    assert codec.decode("EmailSent", from_newer) == {"kind": "confirmed"}

    without_kind = Codec(SCHEMAS, writer_schemas={8: older})
    assert reason_of("EmailSent", b"\x00\x00\x00\x00\x08", without_kind) == "incompatible"


def test_a_given_writer_schema_may_be_parsed_already() -> None:
    codec = Codec(SCHEMAS, writer_schemas={7: parse_schema(with_field("n", type="int"))})
    raw = b"\x00\x00\x00\x00\x07" + CODEC.encode("EmailSent", {"kind": "k"})[5:] + b"\x02"
    assert codec.decode("EmailSent", raw) == {"kind": "k"}


def test_a_dead_letter_keeps_raw_bytes() -> None:
    moment = PLACED["pay_by"]
    letter = {
        "service": "payment",
        "message_id": "8b4c",
        "tenant_id": "demo",
        "topic": "order.events",
        "partition": 3,
        "offset": 12,
        "key": None,
        "headers": [{"name": "ce_id", "value": b"\xff"}, {"name": "ce_id", "value": None}],
        "value": b"\x00\x01",
        "reason": "truncated",
        "first_error": "e",
        "last_error": "e",
        "attempts": 1,
        "failed_at": moment,
        "updated_at": moment,
        "status": "dead",
    }
    assert CODEC.decode("DeadLetter", CODEC.encode("DeadLetter", letter)) == letter
