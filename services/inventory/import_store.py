"""All SQL of imports: themselves, their chunks, their staged rows, and the lines at fault."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, fields
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.engine import Connection, RowMapping

from services.eventkit import db
from services.eventkit.changes import ChangeLog, NewChange
from services.eventkit.envelope import format_time
from services.inventory.imports import OPEN, BadRow, BadRows, Chunk, Import, Staged
from services.inventory.tables import import_chunks, import_errors, import_rows, imports

LOG = ChangeLog("import", OPEN)
_I, _C, _E = imports.c, import_chunks.c, import_errors.c
_FIELDS = [field.name for field in fields(Import)]

OLD_CHUNKS = """
DELETE FROM import_chunks WHERE (import_id, number) IN (
    SELECT import_id, number FROM import_chunks WHERE stored_at < :before AND NOT EXISTS
        (SELECT FROM imports WHERE key = import_id AND ended_at IS NULL)
    LIMIT :batch)"""
"""Deletes chunks of files that never arrived whole."""
OLD_ROWS = """
DELETE FROM import_rows WHERE (import_id, chunk, sku) IN (
    SELECT import_id, chunk, sku FROM import_rows JOIN imports ON key = import_id
    WHERE ended_at < :before LIMIT :batch)"""
"""Deletes staged rows of imports that have ended."""
OLD_ERRORS = """
DELETE FROM import_errors WHERE (import_id, line) IN (
    SELECT import_id, line FROM import_errors JOIN imports ON key = import_id
    WHERE ended_at < :before LIMIT :batch)"""
OLD_IMPORTS = """
DELETE FROM imports WHERE key IN (
    SELECT key FROM imports WHERE ended_at < :before
    AND NOT EXISTS (SELECT FROM import_rows WHERE import_id = key)
    AND NOT EXISTS (SELECT FROM import_errors WHERE import_id = key)
    ORDER BY ended_at LIMIT :batch)"""


def load(conn: Connection, keys: Collection[str]) -> dict[str, Import]:
    """The imports of these ids."""
    wanted = _I.key == sa.any_(sa.bindparam("keys", list(keys), ARRAY(sa.Text)))
    found = conn.execute(sa.select(imports).where(wanted)).mappings()
    return {row["key"]: _import(row) for row in found}


def save(conn: Connection, changed: Sequence[Import], related: Sequence[Any]) -> None:
    """Writes imports, their staged and bad rows, and what their clients are told."""
    db.upsert_rows(conn, imports, [asdict(one) for one in changed])
    staged = [
        {"import_id": rows.import_id, "chunk": rows.chunk, **asdict(line)}
        for rows in related
        if isinstance(rows, Staged)
        for line in rows.lines
    ]
    db.insert_rows(conn, import_rows, staged)
    bad = [
        {"import_id": rows.import_id, **asdict(row), "row": db.as_text(row.row)}
        for rows in related
        if isinstance(rows, BadRows)
        for row in rows.rows
    ]
    db.insert_rows(conn, import_errors, bad)
    discard(conn, [one.key for one in changed if not one.is_open])
    told = [NewChange(one.tenant_id, one.key, one.updated_at, progress(one)) for one in changed]
    LOG.record(conn, told)


def progress(one: Import) -> dict[str, Any]:
    """How far an import is: what is told of each of its states, as JSON."""
    return {
        "import_id": one.key,
        "status": one.status,
        "reason": one.reason,
        "percent": one.percent,
        "valid": one.valid,
        "invalid": one.invalid,
        "applied": one.applied,
        "updated_at": format_time(one.updated_at),
    }


def find(conn: Connection, tenant_id: str, import_id: str) -> Import | None:
    """One import of this tenant; another tenant's does not exist."""
    query = sa.select(imports).where(_I.key == import_id, _I.tenant_id == tenant_id)
    row = conn.execute(query).mappings().one_or_none()
    return _import(row) if row else None


def newest(conn: Connection, tenant_id: str, limit: int) -> list[Import]:
    """A tenant's imports, newest first."""
    query = sa.select(imports).where(_I.tenant_id == tenant_id)
    query = query.order_by(_I.requested_at.desc(), _I.key).limit(limit)
    return [_import(row) for row in conn.execute(query).mappings()]


def open_imports(conn: Connection, tenant_id: str) -> int:
    """How many of a tenant's imports have not ended."""
    query = sa.select(sa.func.count()).where(_I.tenant_id == tenant_id, _I.ended_at.is_(None))
    return conn.execute(query).scalar_one()


def add_chunk(conn: Connection, import_id: str, chunk: Chunk) -> None:
    """Stores a chunk of a file that arrives."""
    db.insert_rows(conn, import_chunks, [{"import_id": import_id, **asdict(chunk)}])


def chunk(conn: Connection, import_id: str, number: int) -> Chunk | None:
    """A chunk of a file, or None."""
    query = sa.select(_C.number, _C.first_line, _C.content)
    query = query.where(_C.import_id == import_id, _C.number == number)
    row = conn.execute(query).one_or_none()
    return Chunk(*row) if row else None


def discard(conn: Connection, import_ids: Sequence[str]) -> None:
    """Forgets files: no import is made of them, or it has ended."""
    if import_ids:
        conn.execute(sa.delete(import_chunks).where(_C.import_id.in_(import_ids)))


def errors_after(conn: Connection, import_id: str, line: int, limit: int) -> list[BadRow]:
    """The next lines at fault, in order."""
    query = sa.select(_E.line, _E.row, _E.error).where(_E.import_id == import_id, _E.line > line)
    return [BadRow(*row) for row in conn.execute(query.order_by(_E.line).limit(limit))]


def _import(row: RowMapping) -> Import:
    return Import(**{name: row[name] for name in _FIELDS})
