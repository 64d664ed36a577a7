"""Whether two generations have the same rows: their number, and the sum of their hashes.

Only where these differ are the rows of a table looked at one by one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from services.eventkit.rebuild.generations import Generation
from services.eventkit.rebuild.model import ReadModel

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
        rows[table.name] = (before[0], after[0])
        if before != after:
            found, number = _drill(conn, table, live, new)
            differing += number
            sample += found
    return Comparison(rows, differing, sample[:SAMPLE])


def _sums(conn: Connection, of: Generation, table: sa.Table) -> tuple[int, Decimal]:
    """How many rows, and the sum of their hashes; what is computed from the rest is left out."""
    query = sa.text(
        "SELECT count(*), coalesce(sum(hash_record_extended(row, 0)::numeric), 0)"  # noqa: S608
        f" FROM (SELECT ROW({_written(table)}) AS row FROM {of.schema}.{table.name} t) rows"
    )
    count, total = conn.execute(query).one()
    return count, total


def _drill(
    conn: Connection, table: sa.Table, live: Generation, new: Generation
) -> tuple[list[Difference], int]:
    """The first rows that are not the same, and how many there are."""
    key = [column.name for column in table.primary_key]
    same = " AND ".join(f'a."{name}" = b."{name}"' for name in key)
    first = ", ".join(f'coalesce(a."{name}", b."{name}")' for name in key)
    query = sa.text(
        "SELECT to_jsonb(a) AS before, to_jsonb(b) AS after, number FROM ("  # noqa: S608
        f"SELECT a, b, count(*) OVER () AS number FROM {live.schema}.{table.name} a"
        f" FULL JOIN {new.schema}.{table.name} b ON {same}"
        f" WHERE a IS DISTINCT FROM b ORDER BY {first} LIMIT {SAMPLE}) differing"
    )
    rows = conn.execute(query).all()
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


def _written(table: sa.Table) -> str:
    return ", ".join(f't."{column.name}"' for column in table.columns if column.computed is None)
