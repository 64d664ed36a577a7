"""The connectors' configuration: no password, one shape, and a header for every envelope field."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from infra.connect.config import HEADERS, connector_config
from infra.connect.rest import state_and_cause
from infra.names import EMITTERS
from services.eventkit.envelope import Envelope
from services.eventkit.tables import outbox

CONFIGS = {service: connector_config(service, "127.0.0.1", 5432) for service in EMITTERS}
ENVELOPE = Envelope(
    message_id=UUID(int=1),
    event_type="OrderPlaced",
    source="/services/order",
    time=datetime(2026, 1, 31, tzinfo=UTC),
    subject="order",
    correlation_id="c",
    causation_id="m",
    sequence=1,
    schema_version="1",
    tenant_id="demo",
    actor_id="a",
    traceparent="00-1-2-01",
)


def test_debezium_writes_the_headers_that_the_envelope_writes() -> None:
    written = [name for name, _ in ENVELOPE.to_headers()]
    assert [*HEADERS.values(), "content-type"] == written


def test_every_column_of_the_outbox_is_used() -> None:
    routed = {"topic", "aggregate_id", "payload", "created_at"}
    own = {"seq"}
    assert {*HEADERS, *routed, *own} == {column.name for column in outbox.columns}


@pytest.mark.parametrize("service", EMITTERS)
def test_the_password_is_a_reference(service: str) -> None:
    assert CONFIGS[service]["database.password"] == "${env:SAGA_DBZ_PASSWORD}"


def test_connectors_differ_only_in_what_is_derived_from_the_service() -> None:
    shared = set.intersection(*(set(config.items()) for config in CONFIGS.values()))
    own = {name for config in CONFIGS.values() for name, _ in config.items() - shared}
    assert own == {"name", "database.dbname", "topic.prefix", "slot.name", "poll.interval.ms"}


def test_the_cause_of_a_failure_is_its_last_one() -> None:
    trace = (
        "ConnectException: it failed\n\tat X\nCaused by: A: because\n\tat Y\nCaused by: B: why\n"
    )
    assert state_and_cause({"state": "FAILED", "trace": trace}) == ("FAILED", "B: why")
    assert state_and_cause({"state": "FAILED", "trace": "E: only\n\tat X"}) == ("FAILED", "E: only")
    assert state_and_cause({"state": "RUNNING"}) == ("RUNNING", "")
