"""All SQL about generations: making one, its indexes, its offsets, the swap, dropping it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from services.eventkit import tables as kit
from services.eventkit.positions import Place
from services.eventkit.rebuild.model import ReadModel
from services.eventkit.rebuild.tables import generation_offsets, generations, projection_state

COPYING, READY, CURRENT, KEPT = "copying", "ready", "current", "kept"
_LIKE = "INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING GENERATED INCLUDING STORAGE"
_BUILD_MEMORY = "256MB"


@dataclass(frozen=True, slots=True)
class Generation:
    """One set of tables. ``status``: copying, ready (whole, but not swapped in), current, kept."""

    number: int
    version: int
    status: str
    begun_at: datetime
    swapped_at: datetime | None

    @property
    def schema(self) -> str:
        """Where its tables are."""
        return "public" if self.status == CURRENT else f"generation_{self.number}"


@dataclass(frozen=True, slots=True)
class Reach:
    """How far a generation has read one partition, and how far its first pass goes."""

    first: int
    next: int
    target: int


def everyone(conn: Connection) -> list[Generation]:
    """All generations that there are, oldest first."""
    rows = conn.execute(sa.select(generations).order_by(generations.c.generation))
    return [Generation(*row) for row in rows]


def find(conn: Connection, *statuses: str) -> Generation | None:
    """The generation with one of these statuses, or None."""
    return next((one for one in everyone(conn) if one.status in statuses), None)


def current(conn: Connection) -> Generation:
    """The one that is read and written."""
    found = find(conn, CURRENT)
    assert found is not None
    return found


def look_at(conn: Connection, generation: Generation) -> None:
    """Plain names mean the tables of this generation until the transaction ends."""
    conn.execute(sa.text(f"SET LOCAL search_path TO {generation.schema}, public"))


def begin(conn: Connection, model: ReadModel, reach: Mapping[Place, range]) -> Generation:
    """A new generation with empty tables, which will first read these ranges of offsets."""
    number = max(one.number for one in everyone(conn)) + 1
    values = {"generation": number, "version": model.version, "status": COPYING}
    row = conn.execute(sa.insert(generations).values(values).returning(generations)).one()
    made = Generation(*row)
    conn.execute(sa.text(f"CREATE SCHEMA {made.schema}"))
    for table in model.tables:  # a vacuum would be in the way of the indexes
        like = _like(made, table, _LIKE)
        conn.execute(sa.text(f"CREATE TABLE {like} WITH (autovacuum_enabled = off)"))
    conn.execute(sa.text(f"CREATE TABLE {_like(made, kit.dead_letters, 'INCLUDING ALL')}"))
    _make_offsets(conn, made, {p: Reach(r.start, r.start, r.stop) for p, r in reach.items()})
    return made


def _like(generation: Generation, table: sa.Table, what: str) -> str:
    return f"{generation.schema}.{table.name} (LIKE public.{table.name} {what})"


def _make_offsets(conn: Connection, of: Generation, reach: Mapping[Place, Reach]) -> None:
    conn.execute(
        sa.text(f"""
        CREATE TABLE {of.schema}.generation_offsets (
            topic         text NOT NULL,
            partition     integer NOT NULL,
            first_offset  bigint NOT NULL,
            next_offset   bigint NOT NULL,
            target_offset bigint NOT NULL,
            PRIMARY KEY (topic, partition)
        )""")
    )
    look_at(conn, of)
    names = generation_offsets.columns.keys()
    rows = [
        dict(zip(names, (*place, part.first, part.next, part.target), strict=True))
        for place, part in sorted(reach.items())
    ]
    if rows:
        conn.execute(sa.insert(generation_offsets), rows)


def reach_of(conn: Connection, generation: Generation) -> dict[Place, Reach]:
    """How far a generation that is not the current one has read."""
    look_at(conn, generation)
    rows = conn.execute(sa.select(generation_offsets))
    return {(topic, partition): Reach(*reach) for topic, partition, *reach in rows}


def advance(conn: Connection, positions: Mapping[Place, int]) -> None:
    """Stores the next offsets of the generation that is looked at."""
    table = generation_offsets
    names = ("topic", "partition", "first_offset", "next_offset", "target_offset")
    place = sa.and_(table.c.topic == sa.bindparam("t"), table.c.partition == sa.bindparam("p"))
    for (topic, partition), offset in sorted(positions.items()):
        moved = sa.update(table).where(place).values(next_offset=sa.bindparam("o"))
        values = {"t": topic, "p": partition, "o": offset}
        if not conn.execute(moved, values).rowcount:  # the partition is new
            row = dict(zip(names, (topic, partition, offset, offset, offset), strict=True))
            conn.execute(sa.insert(table).values(row))


def index(conn: Connection, model: ReadModel, generation: Generation, table: sa.Table) -> None:
    """Gives a copied table the keys and indexes of the live one, unless it has them already."""
    look_at(conn, generation)
    conn.execute(sa.text(f"SET LOCAL maintenance_work_mem = '{_BUILD_MEMORY}'"))
    if _definitions(conn, generation, table)[0]:
        return
    keys, indexes = _definitions(conn, current(conn), table)
    try:
        with conn.begin_nested():
            _alter(conn, generation, table, keys)
    except IntegrityError:
        model.unite(conn, table)
        _alter(conn, generation, table, keys)
    for definition in indexes:
        conn.execute(sa.text(definition.replace(" ON public.", f" ON {generation.schema}.")))
    _alter(conn, generation, table, ["RESET (autovacuum_enabled)"])


def fits(conn: Connection, model: ReadModel, generation: Generation) -> bool:
    """Whether it has the live model's tables: a migration may have come between."""
    live, whole = current(conn), generation.status != COPYING
    return all(
        _shape(conn, generation, table, whole) == _shape(conn, live, table, whole)
        for table in model.tables
    )


def _shape(conn: Connection, of: Generation, table: sa.Table, whole: bool) -> Any:
    """A table's columns and, where it is whole, its keys and indexes."""
    columns = conn.execute(
        sa.text(
            "SELECT attname, format_type(atttypid, atttypmod), attnotnull, attgenerated"
            " FROM pg_attribute WHERE attrelid = to_regclass(:name) AND attnum > 0"
            " AND NOT attisdropped ORDER BY attname"
        ),
        {"name": f"{of.schema}.{table.name}"},
    ).all()
    if not whole or not columns:
        return columns
    keys, indexes = _definitions(conn, of, table)
    return columns, keys, sorted(one.replace(f" ON {of.schema}.", " ON ") for one in indexes)


def analyze(conn: Connection, generation: Generation, table: sa.Table) -> None:
    """Lets PostgreSQL know what is in a table, for its plans."""
    conn.execute(sa.text(f"ANALYZE {generation.schema}.{table.name}"))


def _alter(conn: Connection, of: Generation, table: sa.Table, clauses: Sequence[str]) -> None:
    for clause in clauses:
        conn.execute(sa.text(f"ALTER TABLE {of.schema}.{table.name} {clause}"))


def _definitions(conn: Connection, of: Generation, table: sa.Table) -> tuple[list[str], list[str]]:
    """A table's primary key as a clause, and its other indexes as statements."""
    name = {"name": f"{of.schema}.{table.name}"}
    keys = conn.execute(
        sa.text(
            "SELECT format('ADD CONSTRAINT %I ', conname) || pg_get_constraintdef(oid)"
            " FROM pg_constraint WHERE conrelid = CAST(:name AS regclass) AND contype = 'p'"
        ),
        name,
    )
    indexes = conn.execute(
        sa.text(
            "SELECT pg_get_indexdef(indexrelid) FROM pg_index"
            " WHERE indrelid = CAST(:name AS regclass) AND NOT indisprimary ORDER BY indexrelid"
        ),
        name,
    )
    return list(keys.scalars()), list(indexes.scalars())


def set_status(conn: Connection, generation: Generation, status: str) -> None:
    """Says what a generation is now."""
    mine = generations.c.generation == generation.number
    conn.execute(sa.update(generations).where(mine).values(status=status))


def swap(
    conn: Connection, model: ReadModel, new: Generation, positions: Mapping[Place, int]
) -> Generation:
    """Makes ``new`` the current generation and keeps the one that was; returns that one.

    ``projection_state`` must be locked, and ``new`` must have read up to ``positions``, like the
    current one. Waits until nobody is in the middle of reading.
    """
    old = current(conn)
    kept = find(conn, KEPT)
    if kept is not None and kept.number != new.number:
        drop(conn, kept)
    conn.execute(sa.text("SET LOCAL search_path TO public"))
    names = ", ".join(f"public.{table.name}" for table in reversed(model.tables))
    conn.execute(sa.text(f"LOCK TABLE {names} IN ACCESS EXCLUSIVE MODE"))
    set_status(conn, old, KEPT)
    outgoing = Generation(old.number, old.version, KEPT, old.begun_at, old.swapped_at)
    conn.execute(sa.text(f"CREATE SCHEMA {outgoing.schema}"))
    for table in model.tables:
        _move(conn, table, "public", outgoing.schema)
        _move(conn, table, new.schema, "public")
    conn.execute(sa.text(f"CREATE TABLE {_like(outgoing, kit.dead_letters, 'INCLUDING ALL')}"))
    _make_offsets(conn, outgoing, {p: Reach(o, o, o) for p, o in positions.items()})
    _publish_letters(conn, new)
    conn.execute(sa.text(f"DROP SCHEMA {new.schema} CASCADE"))
    mine = generations.c.generation == new.number
    conn.execute(
        sa.update(generations).where(mine).values(status=CURRENT, swapped_at=sa.func.now())
    )
    conn.execute(sa.update(projection_state).values(version=new.version, generation=new.number))
    return outgoing


def _move(conn: Connection, table: sa.Table, source: str, target: str) -> None:
    conn.execute(sa.text(f"ALTER TABLE {source}.{table.name} SET SCHEMA {target}"))


def _publish_letters(conn: Connection, generation: Generation) -> None:
    """What could not be projected is put aside for good; what is known of it already stays."""
    names = [column.name for column in kit.dead_letters.columns if column.name != "seq"]
    listed = ", ".join(f'"{name}"' for name in names)
    conn.execute(
        sa.text(
            f"INSERT INTO public.dead_letters ({listed})"  # noqa: S608
            f" SELECT {listed} FROM {generation.schema}.dead_letters ORDER BY seq"
            " ON CONFLICT DO NOTHING"
        )
    )


def drop(conn: Connection, generation: Generation) -> None:
    """Removes a generation that is not the current one."""
    conn.execute(sa.text(f"DROP SCHEMA {generation.schema} CASCADE"))
    conn.execute(sa.delete(generations).where(generations.c.generation == generation.number))
