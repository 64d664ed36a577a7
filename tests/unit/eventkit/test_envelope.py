"""The envelope in the headers: what is read is what was written, and what is wrong is named."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.eventkit.envelope import (
    Envelope,
    InvalidEnvelope,
    event_type_of,
    format_time,
    message_id_of,
    parse_time,
)

ENVELOPE = Envelope(
    message_id=UUID("018f2f6c-7d55-7c5e-9d53-9f1d6d0b7a10"),
    event_type="OrderPlaced",
    source="/services/order",
    time=datetime(2026, 1, 31, 9, 15, 0, 123000, tzinfo=UTC),
    subject="0b54b3a4-6d0e-4b0a-9f3e-1d2c3b4a5f60",
    correlation_id="request-1",
    causation_id=None,
    sequence=7,
    schema_version="1",
    tenant_id="demo",
    actor_id="customer-1",
    traceparent="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
)


def test_headers_round_trip() -> None:
    assert Envelope.from_headers(ENVELOPE.to_headers()) == ENVELOPE


@pytest.mark.parametrize("value", [b"abc", b"", b"00-\x00zz", b"00-4BF9-00f0-01", b"\xff"])
def test_a_trace_that_cannot_be_read_is_none(value: bytes) -> None:
    """The event is good all the same, and nobody trips over it later."""
    headers = [(name, text) for name, text in ENVELOPE.to_headers() if name != "traceparent"]
    assert Envelope.from_headers([*headers, ("traceparent", value)]).traceparent is None


def test_headers_are_those_of_cloudevents_in_binary_mode() -> None:
    headers = dict(ENVELOPE.to_headers())
    assert headers["ce_specversion"] == b"1.0"
    assert headers["ce_time"] == b"2026-01-31T09:15:00.123Z"
    assert headers["ce_sequence"] == b"7"
    assert headers["content-type"] == b"application/avro"
    assert "ce_causationid" not in headers


def test_a_header_without_a_value_is_absent() -> None:
    headers: list[tuple[str, bytes | None]] = [*ENVELOPE.to_headers(), ("ce_causationid", None)]
    assert Envelope.from_headers(headers).causation_id is None


@pytest.mark.parametrize(
    "name",
    [
        "ce_id",
        "ce_type",
        "ce_source",
        "ce_time",
        "ce_subject",
        "ce_correlationid",
        "ce_sequence",
        "ce_schemaversion",
        "ce_tenantid",
        "ce_actorid",
    ],
)
def test_a_missing_header_is_named(name: str) -> None:
    headers = [header for header in ENVELOPE.to_headers() if header[0] != name]
    with pytest.raises(InvalidEnvelope) as caught:
        Envelope.from_headers(headers)
    assert caught.value.field == name


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ce_id", b"17"),
        ("ce_sequence", b"-1"),
        ("ce_sequence", b"1.0"),
        ("ce_time", b"yesterday"),
        ("ce_time", b"2026-01-31T09:15:00"),
        ("ce_type", b"\xff\xfe"),
        # What PostgreSQL cannot store, and what Python cannot read, must not stop a partition.
        ("ce_tenantid", b"de\x00mo"),
        ("ce_subject", b"x" * 1001),
        ("ce_sequence", b"9" * 5000),
        ("ce_sequence", b"9" * 19),
        ("ce_time", b"0001-01-01T00:00:00+14:00"),
    ],
)
def test_a_wrong_header_is_named(name: str, value: bytes) -> None:
    headers = [(n, value if n == name else v) for n, v in ENVELOPE.to_headers()]
    with pytest.raises(InvalidEnvelope) as caught:
        Envelope.from_headers(headers)
    assert caught.value.field == name


@settings(deadline=None)
@given(
    st.dictionaries(
        st.sampled_from([name for name, _ in ENVELOPE.to_headers()]),
        st.binary(max_size=40) | st.text("0123456789-+:.TZ\x00é٣", max_size=40).map(str.encode),
    )
)
def test_whatever_the_headers_are_they_are_an_envelope_or_none(
    changed: dict[str, bytes],
) -> None:
    headers = {**dict(ENVELOPE.to_headers()), **changed}
    with suppress(InvalidEnvelope):
        Envelope.from_headers(list(headers.items()))


def test_no_headers_at_all() -> None:
    with pytest.raises(InvalidEnvelope):
        Envelope.from_headers(None)


def test_times_of_other_zones_are_the_same_moment() -> None:
    paris = datetime(2026, 1, 31, 10, 15, tzinfo=timezone(timedelta(hours=1)))
    assert format_time(paris) == "2026-01-31T09:15:00.000Z"
    assert parse_time("2026-01-31T10:15:00+01:00") == paris


def test_the_type_can_be_read_alone() -> None:
    assert event_type_of([("other", b"x"), ("ce_type", b"OrderPlaced")]) == "OrderPlaced"
    assert event_type_of([("ce_type", None)]) is None
    assert event_type_of(None) is None


def test_a_record_without_an_id_has_the_same_one_at_every_delivery() -> None:
    assert message_id_of("order.events", 3, 42) == message_id_of("order.events", 3, 42)
    assert message_id_of("order.events", 3, 42) != message_id_of("order.events", 3, 43)
