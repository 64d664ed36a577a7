"""What every schema file must be, with nothing running."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastavro import parse_schema

from infra.names import EMITTERS
from infra.registry.releases import sample
from services.eventkit.codec import Codec
from services.eventkit.schemas import SCHEMAS_DIR, Schemas, schema_files, wire_form

FILES = schema_files()
SCHEMAS = Schemas.load()
PRIMITIVES = {"string", "bytes", "int", "long", "boolean"}
AMOUNTS = {"amount", "total", "unit_price"}


def declared(path: Path) -> Any:
    return json.loads(path.read_text())


def records(schema: Any) -> Iterator[dict[str, Any]]:
    """The record and every record inside it."""
    yield schema
    for field in schema["fields"]:
        kind = field["type"]
        if isinstance(kind, dict) and kind["type"] == "array":
            yield from records(kind["items"])


def types(schema: Any) -> Iterator[tuple[str, Any]]:
    for record in records(schema):
        for field in record["fields"]:
            yield f"{record['name']}.{field['name']}", field["type"]


by_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
by_type = pytest.mark.parametrize("event_type", SCHEMAS)


@by_file
def test_file_folder_and_names_agree(path: Path) -> None:
    schema = declared(path)
    assert parse_schema(schema)
    assert schema["name"] == path.stem
    assert schema["namespace"] == f"shop.{path.parent.name}"
    assert path.parent.name in {*EMITTERS, "platform"}


@by_file
def test_every_record_and_field_is_explained(path: Path) -> None:
    for record in records(declared(path)):
        assert record["doc"].endswith(".")
        for field in record["fields"]:
            assert field["doc"].endswith("."), f"{record['name']}.{field['name']}"


@by_file
def test_amounts_and_times_state_their_unit(path: Path) -> None:
    for record in records(declared(path)):
        for field in record["fields"]:
            if field["name"] in AMOUNTS:
                assert field["type"] == "long"
                assert "minor units" in field["doc"]
            if isinstance(field["type"], dict) and "logicalType" in field["type"]:
                assert field["type"]["logicalType"] == "timestamp-millis"
                assert "UTC, milliseconds" in field["doc"]


@by_file
def test_an_amount_travels_with_its_currency(path: Path) -> None:
    fields = {field["name"] for field in declared(path)["fields"]}
    assert not fields & AMOUNTS or "currency" in fields


@by_file
def test_c51_no_union_of_records_and_no_enum(path: Path) -> None:
    for name, kind in types(declared(path)):
        if isinstance(kind, list):
            assert kind[0] == "null", name
            assert len(kind) == 2, name
            assert kind[1] in PRIMITIVES, name
        elif isinstance(kind, dict):
            assert kind["type"] in {"array", "long"}, name
        else:
            assert kind in PRIMITIVES, name


@by_type
def test_c51_round_trip_keeps_every_field(event_type: str) -> None:
    codec, fields = Codec(SCHEMAS), sample(SCHEMAS[event_type].parsed)
    assert codec.decode(event_type, codec.encode(event_type, fields)) == fields


@by_file
def test_no_personal_data_travels(path: Path) -> None:
    personal = {"name", "address", "email", "phone", "card", "customer_name", "customer_email"}
    assert not personal & {field["name"] for field in declared(path)["fields"]}


def test_one_event_type_has_one_schema() -> None:
    assert len(SCHEMAS) == len(FILES)


def test_doc_strings_are_no_part_of_the_contract() -> None:
    schema = declared(SCHEMAS_DIR / "order" / "OrderPlaced.avsc")
    reworded = json.loads(json.dumps(schema).replace('"doc": "', '"doc": "Indeed: '))
    assert reworded != schema
    assert wire_form(reworded) == wire_form(schema)
