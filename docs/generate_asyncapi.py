"""Make schemas/asyncapi.json: ``python -m docs.generate_asyncapi [--check]``.

What travels on the topics, who says it and who reads it, as an AsyncAPI 3 document. All of it comes
from the schemas, the topics and the services' handler tables.
"""

import json
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from docs.generate_saga import Tables, load_tables
from docs.generated import finish
from infra.kafka.topics import Topic, topics
from infra.names import EMITTERS, dead_letter_topic, events_topic
from infra.registry.releases import as_json, sample
from services.eventkit.schemas import SCHEMAS_DIR, Schemas
from services.projector.views import PROJECTIONS

TARGET: Final = SCHEMAS_DIR / "asyncapi.json"
ROOT: Final = Path(__file__).resolve().parents[1]
LETTER: Final = "DeadLetter"

_AVRO: Final = "application/vnd.apache.avro;version=1.9.0"
_KAFKA: Final = "0.5.0"
_TEXT: Final = {"type": "string"}
_UUID: Final = {"type": "string", "format": "uuid"}
_HEADERS: Final[Mapping[str, Mapping[str, Any]]] = {
    "ce_specversion": {"type": "string", "const": "1.0"},
    "ce_id": {**_UUID, "description": "The message: who has handled it passes over a repeat"},
    "ce_type": {**_TEXT, "description": "The event type: the record's name without its namespace"},
    "ce_source": {**_TEXT, "description": "Who says it", "examples": ["/services/order"]},
    "ce_time": {"type": "string", "format": "date-time", "description": "UTC, milliseconds"},
    "ce_subject": {**_TEXT, "description": "The same as the record's key"},
    "ce_correlationid": {**_TEXT, "description": "The request that began it"},
    "ce_causationid": {**_TEXT, "description": "The message that caused it, if one did"},
    "ce_sequence": {
        "type": "string",
        "pattern": "^[0-9]{1,18}$",
        "description": "Version of the emitting aggregate after this event, raised by one each",
    },
    "ce_schemaversion": {**_TEXT, "description": "Version of the schema it was written with"},
    "ce_tenantid": {**_TEXT, "description": "Whose it is"},
    "ce_actorid": {**_TEXT, "description": "Who asked for it"},
    "traceparent": {**_TEXT, "description": "W3C Trace Context"},
    "content-type": {"type": "string", "const": "application/avro"},
}
_MAY_BE_ABSENT: Final = {"ce_causationid", "traceparent"}


def render(tables: Tables) -> str:
    """The whole document."""
    return json.dumps(document(tables), indent=2) + "\n"


def document(tables: Tables) -> dict[str, Any]:
    """The same as data."""
    schemas = Schemas.load()
    ours = [*(events_topic(name) for name in EMITTERS), *map(dead_letter_topic, EMITTERS)]
    known = {topic.name: topic for topic in topics()}
    emitted = {name: sorted(_emitted(tables, name)) for name in EMITTERS}
    told = {events_topic(name): events for name, events in emitted.items()}
    told |= {dead_letter_topic(name): [LETTER] for name in EMITTERS}
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Order saga: events",
            "version": "1.0.0",
            "description": (
                "Every event of an order has the order's id as its key, so all of one order are in"
                " one partition of each topic, in order. Records are delivered at least once."
                " A consumer passes over types that it does not know."
            ),
        },
        "defaultContentType": "application/avro",
        "servers": {
            "local": {
                "host": _broker(),
                "protocol": "kafka",
                "description": "The broker of `make up`",
            }
        },
        "channels": {name: _channel(known[name], told[name]) for name in ours},
        "operations": dict(_operations(tables, emitted)),
        "components": {
            "messages": {
                name: _message(name, schemas)
                for name in sorted({n for ns in told.values() for n in ns})
            },
            "schemas": {"Envelope": _envelope()},
            "correlationIds": {
                "request": {
                    "description": "The request that began it",
                    "location": "$message.header#/ce_correlationid",
                }
            },
        },
    }


def _emitted(tables: Tables, service: str) -> set[str]:
    return {event for line in tables[service].values() for event in line.emits}


def _broker() -> str:
    ports = tomllib.loads((ROOT / "infra/ports.toml").read_text())
    return f"127.0.0.1:{ports['base'] + ports['offsets']['kafka']}"


def _channel(topic: Topic, events: list[str]) -> dict[str, Any]:
    letters = events == [LETTER]
    config: dict[str, Any] = {
        "cleanup.policy": [topic.config["cleanup.policy"]],
        "retention.ms": int(topic.config["retention.ms"]),
    }
    service = topic.name.partition(".")[0]
    what = "What it has put aside: copies, the rows are with it" if letters else "What it says"
    return {
        "address": topic.name,
        "title": f"{service}: {'dead letters' if letters else 'events'}",
        "description": f"{what}.",
        "messages": {event: {"$ref": f"#/components/messages/{event}"} for event in events},
        "bindings": {
            "kafka": {
                "topic": topic.name,
                "partitions": topic.partitions,
                "topicConfiguration": config,
                "bindingVersion": _KAFKA,
            }
        },
    }


def _operations(
    tables: Tables, emitted: Mapping[str, list[str]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in EMITTERS:
        yield f"{name}.says", _operation("send", name, events_topic(name), emitted[name])
        yield f"{name}.putsAside", _operation("send", name, dead_letter_topic(name), [LETTER])
    for reader, read in (*_read(tables).items(), ("projector", _projected(emitted))):
        for topic, events in sorted(read.items()):
            operation = _operation("receive", reader, topic, sorted(events))
            yield f"{reader}.reads.{topic.removesuffix('.events')}", operation


def _read(tables: Tables) -> dict[str, dict[str, list[str]]]:
    """By service and topic: the events it handles."""
    found: dict[str, dict[str, list[str]]] = {}
    for service, table in tables.items():
        for line in table.values():
            if line.source not in ("api", "job"):
                found.setdefault(service, {}).setdefault(line.source, []).append(line.type)
    return found


def _projected(emitted: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """By topic: the events that make the read model."""
    found = {
        events_topic(name): [e for e in events if e in PROJECTIONS]
        for name, events in emitted.items()
    }
    return {topic: events for topic, events in found.items() if events}


def _operation(action: str, service: str, topic: str, events: list[str]) -> dict[str, Any]:
    return {
        "action": action,
        "channel": {"$ref": f"#/channels/{topic}"},
        "summary": f"{service} {'says' if action == 'send' else 'reads'}: {', '.join(events)}",
        "tags": [{"name": service}],
        "messages": [{"$ref": f"#/channels/{topic}/messages/{event}"} for event in events],
    }


def _message(name: str, schemas: Schemas) -> dict[str, Any]:
    schema = schemas[name]
    declared = json.loads((SCHEMAS_DIR / schema.service / f"{name}.avsc").read_text())
    subject = "The report's id" if name == "ReportReady" else "The order's id"
    return {
        "name": name,
        "title": schema.full_name,
        "summary": declared["doc"],
        "description": f"Version {schema.version}, id {schema.id} in the registry.",
        "contentType": "application/avro",
        "correlationId": {"$ref": "#/components/correlationIds/request"},
        "headers": {"$ref": "#/components/schemas/Envelope"},
        "payload": {"schemaFormat": _AVRO, "schema": declared},
        "bindings": {
            "kafka": {
                "key": {**_TEXT, "description": subject},
                "schemaIdLocation": "payload",
                "schemaIdPayloadEncoding": "confluent",
                "bindingVersion": _KAFKA,
            }
        },
        "examples": [{"name": "sample", "payload": as_json(sample(schema.parsed))}],
    }


def _envelope() -> dict[str, Any]:
    return {
        "type": "object",
        "description": "CloudEvents 1.0 in binary mode; unknown headers are passed over",
        "required": [name for name in _HEADERS if name not in _MAY_BE_ABSENT],
        "properties": {name: dict(said) for name, said in _HEADERS.items()},
    }


if __name__ == "__main__":
    sys.exit(finish(TARGET, render(load_tables()), "docs.generate_asyncapi"))
