"""Releases what is new below schemas/: gives it an id in ids.lock and records bytes of it.

Append only. A version that cannot read the recorded bytes of every earlier one is refused.
"""

import json
from pathlib import Path
from typing import Any

import typer
from fastavro import parse_schema
from fastavro.read import SchemaResolutionError

from infra.registry.releases import load_releases, read_back, record, save
from services.eventkit.schemas import (
    LOCK_NAME,
    SCHEMAS_DIR,
    LockLine,
    digest,
    full_name,
    read_lock,
    schema_files,
    wire_form,
)

_FIRST_ID = 1001
_HEAD = """\
# Registry id, subject, version and SHA-256 of every released schema. Append only, for ever:
# the ids are part of the records on the topics. To release: python -m infra.registry.lock
"""


class Incompatible(ValueError):
    """A new version cannot read what an earlier one wrote."""


def release_new(root: Path = SCHEMAS_DIR) -> list[LockLine]:
    """Releases every schema that differs from all released versions of its subject.

    Raises `Incompatible`, with nothing released, if readers of the new version would fail.
    """
    lock = read_lock(root)
    known = {(line.subject, line.sha256) for line in lock}
    declared = [json.loads(path.read_text()) for path in schema_files(root)]
    new = [one for one in declared if (full_name(one), digest(one)) not in known]
    for schema in new:
        _require_compatible(root, schema)
    lines: list[LockLine] = []
    for schema in new:
        line = _next_line(lock + lines, schema)
        save(root, record(line, json.loads(wire_form(schema))))
        lines.append(line)
    _append(root, lines)
    return lines


def _next_line(lock: list[LockLine], schema: Any) -> LockLine:
    subject = full_name(schema)
    versions = [line.version for line in lock if line.subject == subject]
    next_id = max([line.id for line in lock], default=_FIRST_ID - 1) + 1
    return LockLine(next_id, subject, max(versions, default=0) + 1, digest(schema))


def _require_compatible(root: Path, schema: Any) -> None:
    subject = full_name(schema)
    for old in load_releases(root):
        if old.subject != subject:
            continue
        try:
            read_back(old, parse_schema(json.loads(wire_form(schema))))
        except SchemaResolutionError as error:
            raise Incompatible(
                f"{subject} cannot read its version {old.version}: {error}. "
                "Give every new field a default; never change or rename a field."
            ) from error


def _append(root: Path, lines: list[LockLine]) -> None:
    path = root / LOCK_NAME
    text = path.read_text() if path.exists() else _HEAD
    rows = [f"{line.id} {line.subject} {line.version} {line.sha256}\n" for line in lines]
    path.write_text(text + "".join(rows))


def main() -> None:
    """Release every schema that is new, or say that there is none.

    Example: edit schemas/order/OrderPlaced.avsc, run python -m infra.registry.lock,
    then commit what it wrote.
    """
    try:
        lines = release_new()
    except Incompatible as error:
        typer.echo(f"refused: {error}", err=True)
        raise typer.Exit(1) from error
    for line in lines:
        typer.echo(f"released {line.subject} version {line.version} as id {line.id}")
    if not lines:
        typer.echo("nothing new: every schema is released")


if __name__ == "__main__":
    typer.run(main)
