"""schemas/asyncapi.json says what travels, and is an AsyncAPI 3 document."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from docs.generate_asyncapi import _HEADERS, TARGET, document, render
from docs.generate_saga import load_tables
from infra.names import EMITTERS, dead_letter_topic, events_topic
from services.eventkit.schemas import Schemas
from tests.integration.eventkit.toy import record

SCHEMA = Path(__file__).parent / "asyncapi" / "3.0.0.json"
TABLES = load_tables()


@pytest.fixture(scope="module")
def written() -> Any:
    return json.loads(TARGET.read_text())


def test_the_document_is_up_to_date() -> None:
    assert TARGET.read_text() == render(TABLES), "run: python -m docs.generate_asyncapi"


def test_it_is_valid_by_the_schema_of_asyncapi_3(written: Any) -> None:
    validator = jsonschema_rs.validator_for(json.loads(SCHEMA.read_text()))
    validator.validate(written)
    broken = {**written, "channels": {"x": {"address": 5}}}
    assert not validator.is_valid(broken), "a schema that takes anything would prove nothing"


def test_every_topic_and_every_schema_is_in_it(written: Any) -> None:
    topics = {*map(events_topic, EMITTERS), *map(dead_letter_topic, EMITTERS)}
    assert {channel["address"] for channel in written["channels"].values()} == topics
    assert set(written["components"]["messages"]) == set(Schemas.load())


def test_who_reads_and_who_says_is_as_the_handler_tables_have_it(written: Any) -> None:
    for service, table in TABLES.items():
        said = {event for line in table.values() for event in line.emits}
        read = {line.type for line in table.values() if line.source not in ("api", "job")}
        assert told(written, service, "send") == said | {"DeadLetter"}
        assert told(written, service, "receive") == read


def told(written: Any, service: str, action: str) -> set[str]:
    """The events of a service's operations."""
    return {
        message["$ref"].rpartition("/")[2]
        for operation in written["operations"].values()
        if operation["action"] == action and operation["tags"] == [{"name": service}]
        for message in operation["messages"]
    }


def test_every_reference_leads_somewhere() -> None:
    made = document(TABLES)
    for reference in references(made):
        found = made
        for part in reference.removeprefix("#/").split("/"):
            found = found[part]


def references(node: Any) -> list[str]:
    """All ``$ref`` of a document."""
    if isinstance(node, list):
        return [found for item in node for found in references(item)]
    if not isinstance(node, dict):
        return []
    own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
    return own + [found for item in node.values() for found in references(item)]


def test_the_headers_are_those_that_travel() -> None:
    sent = {name for name, _ in record("key").headers}
    assert sent <= set(_HEADERS)
    assert set(_HEADERS) - sent <= {"traceparent", "ce_causationid"}
