"""Reading a service's outbox as the auditor."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.engine import Connection

from infra.connect.config import HEADERS

COLUMNS = sorted({*HEADERS, "topic", "aggregate_id", "payload", "created_at"})
_IDS = sa.text("""
SELECT message_id, topic FROM outbox
WHERE CAST(:key AS text) IS NULL OR aggregate_id = :key ORDER BY seq""")
_ROWS = sa.text(
    f"SELECT {', '.join(COLUMNS)} FROM outbox WHERE message_id = ANY(:ids) ORDER BY seq"  # noqa: S608
).bindparams(sa.bindparam("ids", type_=ARRAY(sa.Uuid)))
_BATCH = 1000


def ids(conn: Connection, key: str | None) -> list[tuple[UUID, str]]:
    """Id and topic of every row, or of those of one key, as they were written."""
    return [(message_id, topic) for message_id, topic in conn.execute(_IDS, {"key": key})]


def whole(conn: Connection, wanted: Collection[UUID]) -> Iterator[Mapping[str, Any]]:
    """These rows with their payloads, in the order in which they were written."""
    ordered = [message_id for message_id, _ in ids(conn, None) if message_id in set(wanted)]
    for start in range(0, len(ordered), _BATCH):
        batch = {"ids": ordered[start : start + _BATCH]}
        yield from (dict(row) for row in conn.execute(_ROWS, batch).mappings())
