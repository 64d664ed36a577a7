"""The contract: every event's Avro schema, and the registry id each released version has for ever.

An id is part of every record on every topic. If a rebuilt registry gave ids anew, old bytes would
decode silently wrong, so the ids are committed in ``schemas/ids.lock``.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastavro import parse_schema

SCHEMAS_DIR = Path(__file__).resolve().parents[2] / "schemas"
LOCK_NAME = "ids.lock"


class SchemaNotReleased(ValueError):
    """A schema file differs from every released version of its subject."""


@dataclass(frozen=True, slots=True)
class LockLine:
    """One released version: its registry id, subject (full record name), version and digest."""

    id: int
    subject: str
    version: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Schema:
    """The schema that this code writes and reads for one event type.

    ``text`` is what the registry stores. ``version`` is text because it travels in a header.
    """

    type: str
    full_name: str
    service: str
    version: str
    id: int
    text: str
    parsed: Any


class Schemas(Mapping[str, Schema]):
    """All schemas by event type, such as ``OrderPlaced``, and the lock they agree with."""

    def __init__(self, by_type: Mapping[str, Schema], lock: Mapping[int, LockLine]) -> None:
        self._by_type = dict(by_type)
        self.lock = dict(lock)

    @classmethod
    def load(cls, root: Path = SCHEMAS_DIR) -> "Schemas":
        """Reads every schema file below ``root``; raises `SchemaNotReleased`."""
        lock = read_lock(root)
        by_digest = {(line.subject, line.sha256): line for line in lock}
        loaded = [_load(path, by_digest) for path in schema_files(root)]
        return cls({schema.type: schema for schema in loaded}, {line.id: line for line in lock})

    def __getitem__(self, event_type: str) -> Schema:
        return self._by_type[event_type]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_type)

    def __len__(self) -> int:
        return len(self._by_type)


def schema_files(root: Path = SCHEMAS_DIR) -> list[Path]:
    """Every ``<service>/<Event>.avsc``, sorted."""
    return sorted(root.glob("*/*.avsc"))


def read_lock(root: Path = SCHEMAS_DIR) -> list[LockLine]:
    """The lines of the lock in the order they were released; none if there is no lock yet."""
    path = root / LOCK_NAME
    lines = path.read_text().splitlines() if path.exists() else []
    return [_lock_line(line) for line in lines if line and not line.startswith("#")]


def wire_form(schema: Any) -> str:
    """What is registered: the schema without its doc strings, as compact JSON.

    So the words of a doc string can be improved without a new version of the contract.
    """
    return json.dumps(_without_docs(schema), sort_keys=True, separators=(",", ":"))


def digest(schema: Any) -> str:
    """The SHA-256 of the wire form, as hex."""
    return hashlib.sha256(wire_form(schema).encode()).hexdigest()


def full_name(schema: Mapping[str, Any]) -> str:
    """The record's full name, whether or not the schema spells it out in ``name``."""
    name, namespace = schema["name"], schema.get("namespace")
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _load(path: Path, by_digest: Mapping[tuple[str, str], LockLine]) -> Schema:
    declared = json.loads(path.read_text())
    subject, text = full_name(declared), wire_form(declared)
    line = by_digest.get((subject, digest(declared)))
    if line is None:
        raise SchemaNotReleased(
            f"{path} differs from every released version of {subject}; "
            "to release it as a new version: python -m infra.registry.lock"
        )
    return Schema(
        type=subject.rpartition(".")[2],
        full_name=subject,
        service=path.parent.name,
        version=str(line.version),
        id=line.id,
        text=text,
        parsed=parse_schema(json.loads(text)),
    )


def _lock_line(text: str) -> LockLine:
    number, subject, version, sha256 = text.split()
    return LockLine(int(number), subject, int(version), sha256)


def _without_docs(node: Any) -> Any:
    if isinstance(node, dict):
        # A default is data, not schema: it may be a map with a key "doc" of its own.
        return {
            key: value if key == "default" else _without_docs(value)
            for key, value in node.items()
            if key != "doc"
        }
    if isinstance(node, list):
        return [_without_docs(item) for item in node]
    return node
