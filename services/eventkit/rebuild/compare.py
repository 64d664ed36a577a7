"""Whether two generations have the same rows: counts and checksums by hash of the key.

Rows are summed up in buckets; only the rows of buckets that differ are looked at one by one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from services.eventkit.rebuild.generations import Generation
from services.eventkit.rebuild.model import ReadModel

BUCKETS = 256
SAMPLE = 20


@dataclass(frozen=True, slots=True)
class Difference:
    """One row that is not the same: its key, and in what it differs."""

    table: str
    key: str
    what: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """``rows`` by table, live and rebuilt; ``differing`` rows, the first few of them in full."""

    rows: dict[str, tuple[int, int]]
    differing: int = 0
    sample: Sequence[Difference] = ()


def compare(conn: Connection, model: ReadModel, live: Generation, new: Generation) -> Comparison:
    """Compares every table, as the transaction sees it."""
    rows: dict[str, tuple[int, int]] = {}
    differing = 0
    sample: list[Difference] = []
    for table in model.tables:
        before, after = _sums(conn, live, table), _sums(conn, new, table)
        rows[table.name] = (_count(before), _count(after))
        wrong = [b for b in before.keys() | after.keys() if before.get(b) != after.get(b)]
        if wrong:
            found, number = _drill(conn, table, live, new, wrong)
            differing += number
            sample += found
    return Comparison(rows, differing, sample[:SAMPLE])


def _count(sums: dict[int, tuple[int, Any]]) -> int:
    return sum(count for count, _ in sums.values())


def _sums(conn: Connection, of: Generation, table: sa.Table) -> dict[int, tuple[int, Any]]:
    query = sa.text(
        f"SELECT {_bucket(table)}, count(*), sum(hashtextextended(t::text, 0)::numeric)"  # noqa: S608
        f" FROM {of.schema}.{table.name} t GROUP BY 1"
    )
    return {bucket: (count, total) for bucket, count, total in conn.execute(query)}


def _drill(
    conn: Connection, table: sa.Table, live: Generation, new: Generation, buckets: list[int]
) -> tuple[list[Difference], int]:
    key = [column.name for column in table.primary_key]
    same = " AND ".join(f'a."{name}" = b."{name}"' for name in key)
    chosen = f"WHERE {_bucket(table)} = ANY(:buckets)"
    query = sa.text(
        "SELECT to_jsonb(a) AS before, to_jsonb(b) AS after, count(*) OVER () AS number"  # noqa: S608
        f" FROM (SELECT * FROM {live.schema}.{table.name} t {chosen}) a"
        f" FULL JOIN (SELECT * FROM {new.schema}.{table.name} t {chosen}) b ON {same}"
        f" WHERE a IS DISTINCT FROM b ORDER BY 1, 2 LIMIT {SAMPLE}"
    )
    rows = conn.execute(query, {"buckets": buckets}).all()
    found = [Difference(table.name, *_described(row.before, row.after, key)) for row in rows]
    return found, rows[0].number if rows else 0


def _described(
    before: dict[str, Any] | None, after: dict[str, Any] | None, key: Sequence[str]
) -> tuple[str, str]:
    row = before or after or {}
    name = "/".join(str(row[column]) for column in key)
    if before is None or after is None:
        return name, "only in the rebuilt model" if before is None else "only in the live model"
    changed = [column for column in before if before[column] != after[column]]
    return name, ", ".join(f"{c} is {before[c]!r}, rebuilt {after[c]!r}" for c in changed)


def _bucket(table: sa.Table) -> str:
    key = " || '/' || ".join(f't."{column.name}"::text' for column in table.primary_key)
    return f"(hashtextextended({key}, 0) & {BUCKETS - 1})"
