"""Released versions of the schemas, each with recorded bytes of one record it wrote."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

from fastavro import parse_schema, schemaless_reader, schemaless_writer

from services.eventkit.schemas import SCHEMAS_DIR, LockLine, digest, read_lock

SAMPLE_TIME = datetime(2026, 1, 31, 9, 15, 0, 123000, tzinfo=UTC)


class LockBroken(ValueError):
    """The lock and the recorded releases disagree."""


@dataclass(frozen=True, slots=True)
class Release:
    """One version for ever: its schema as registered, a sample's fields, and its bytes as hex."""

    id: int
    subject: str
    version: int
    schema: Mapping[str, Any]
    data: Mapping[str, Any]
    avro: str


def load_releases(root: Path = SCHEMAS_DIR) -> list[Release]:
    """Every released version in the order of the lock; raises `LockBroken`."""
    return [_load(root, line) for line in read_lock(root)]


def record(line: LockLine, schema: Mapping[str, Any]) -> Release:
    """The release of a schema, with a sample record that is the same at every run."""
    data = sample(parse_schema(dict(schema)))
    body = BytesIO()
    schemaless_writer(body, parse_schema(dict(schema)), data, strict=True)
    return Release(
        line.id, line.subject, line.version, schema, as_json(data), body.getvalue().hex()
    )


def save(root: Path, release: Release) -> Path:
    """Writes a release to its file; a file that exists already is refused, for ever means so."""
    path = release_file(root, release.subject, release.version)
    path.parent.mkdir(exist_ok=True)
    with path.open("x") as file:
        file.write(json.dumps(asdict(release), indent=2) + "\n")
    return path


def read_back(release: Release, reader: Any | None = None) -> Any:
    """The recorded bytes as the writer's own schema, or another reader's, has them."""
    stream = BytesIO(bytes.fromhex(release.avro))
    return schemaless_reader(stream, parse_schema(dict(release.schema)), reader)


def release_file(root: Path, subject: str, version: int) -> Path:
    """Where a release is recorded."""
    return root / "releases" / f"{subject}.v{version}.json"


def sample(schema: Any, name: str = "") -> Any:
    """A value that fits a parsed schema: text is its field's name, an array has two items."""
    if isinstance(schema, list):
        return sample(next(branch for branch in schema if branch != "null"), name)
    kind = schema["type"] if isinstance(schema, dict) else schema
    if kind == "record":
        return {field["name"]: sample(field["type"], field["name"]) for field in schema["fields"]}
    if kind == "array":
        return [sample(schema["items"], name), sample(schema["items"], name)]
    if isinstance(schema, dict) and schema.get("logicalType") == "timestamp-millis":
        return SAMPLE_TIME
    simple = {"string": name, "bytes": name.encode(), "int": 7, "long": 70_000_000_000}
    return simple[kind]


def as_json(value: Any) -> Any:
    """The value with times as RFC 3339 and bytes as hex."""
    if isinstance(value, Mapping):
        return {key: as_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_json(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds")
    return value.hex() if isinstance(value, bytes) else value


def _load(root: Path, line: LockLine) -> Release:
    path = release_file(root, line.subject, line.version)
    try:
        release = Release(**json.loads(path.read_text()))
    except FileNotFoundError as error:
        raise LockBroken(f"{line.subject} version {line.version} has no record: {path}") from error
    if (release.id, digest(release.schema)) != (line.id, line.sha256):
        raise LockBroken(f"{path} is not what ids.lock says of {line.subject} v{line.version}")
    return release
