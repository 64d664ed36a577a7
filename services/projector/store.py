"""All SQL that writes the read model: one transaction a batch, one statement a table."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.engine import Connection

from services.eventkit import db
from services.eventkit import tables as kit
from services.eventkit.records import Poison
from services.projector import control, letters
from services.projector.projections import OTHERS, VIEW, Projection
from services.projector.tables import order_timeline, order_view, projection_offsets
from services.projector.views import OrderView, TimelineEntry, begin, is_repeat_or_older, project

APPLIED, OLDER, REPEAT = "applied", "older", "duplicate"

Positions = Mapping[tuple[str, int], int]

_NOT_NULL = [column.name for column in order_view.columns if not column.nullable]


@dataclass(frozen=True, slots=True)
class Batch:
    """What one batch of records came to. ``positions`` are the next offsets to read."""

    entries: Sequence[TimelineEntry]
    poisons: Sequence[Poison]
    positions: Positions


def write(conn: Connection, batch: Batch) -> list[str]:
    """Writes a batch; returns the outcome of each entry. The caller commits.

    Raises `control.Paused` where the projector must not write now.
    """
    control.share(conn)
    outcomes = take_in(conn, batch.entries)
    put_aside(conn, batch.poisons)
    _advance(conn, batch.positions)
    return outcomes


def take_in(conn: Connection, entries: Sequence[TimelineEntry]) -> list[str]:
    """Projects entries into every table; returns the outcome of each."""
    stored, made = _lock(conn, entries)
    past = _timeline_of(conn, made)
    new = _add_timeline(conn, entries)
    views = VIEW.folded(stored, past)
    outcomes = _project(views, entries, new)
    _save(conn, VIEW, stored, views)
    for projection in OTHERS:
        _project_also(conn, projection, entries, made, past)
    return outcomes


def _project_also(
    conn: Connection,
    projection: Projection,
    entries: Sequence[TimelineEntry],
    made: Collection[UUID],
    past: Sequence[TimelineEntry],
) -> None:
    """What is not there though its view was is folded from the whole timeline."""
    keys = {entry.order_id for entry in entries}
    stored = _load(conn, projection, keys)
    earlier = [*past, *_timeline_of(conn, keys - stored.keys() - set(made))]
    rows = projection.folded(stored, [e for e in earlier if e.order_id not in stored])
    _save(conn, projection, stored, projection.folded(rows, entries))


def put_aside(conn: Connection, poisons: Sequence[Poison]) -> None:
    """Keeps what cannot be projected as dead letters."""
    rows = [letters.row(poison) for poison in poisons]
    db.insert_new_rows(conn, kit.dead_letters, rows, kit.dead_letters.c.message_id)


def _project(
    views: dict[UUID, OrderView], entries: Sequence[TimelineEntry], new: set[UUID]
) -> list[str]:
    outcomes = []
    for entry in entries:
        view = views[entry.order_id]
        if entry.message_id not in new:
            outcomes.append(REPEAT)
        else:
            outcomes.append(OLDER if is_repeat_or_older(view, entry) else APPLIED)
            new.discard(entry.message_id)
        views[entry.order_id] = project(view, entry)
    return outcomes


def _lock(
    conn: Connection, entries: Sequence[TimelineEntry]
) -> tuple[dict[UUID, OrderView], set[UUID]]:
    """Locks and reads the view of every key; returns as well the keys that had none.

    Those get an empty row first, since a row that does not exist cannot be locked.
    """
    first = {entry.order_id: begin(entry) for entry in reversed(entries)}
    keys = sorted(first)
    empty = [_row(first[key], _NOT_NULL) for key in keys]
    made = set(db.insert_new_rows(conn, order_view, empty, order_view.c.order_id))
    there = [key for key in keys if key not in made]
    query = sa.select(order_view).where(order_view.c.order_id == _any(there))
    locked = conn.execute(query.order_by(order_view.c.order_id).with_for_update())
    views = {row["order_id"]: OrderView(**row) for row in locked.mappings()}
    return views | {key: first[key] for key in made}, made


def _load(conn: Connection, projection: Projection, keys: Collection[UUID]) -> dict[UUID, Any]:
    columns = [projection.table.c[name] for name in projection.columns]
    query = sa.select(*columns).where(projection.table.c.order_id == _any(keys))
    rows = conn.execute(query).mappings()
    return {row["order_id"]: projection.row(**row) for row in rows}


def _timeline_of(conn: Connection, keys: Collection[UUID]) -> list[TimelineEntry]:
    """What is known already of orders whose row is not there: all of it, for new ones nothing."""
    if not keys:
        return []
    query = sa.select(order_timeline).where(order_timeline.c.order_id == _any(keys))
    return [TimelineEntry(**row) for row in conn.execute(query).mappings()]


def _save(
    conn: Connection, projection: Projection, before: Mapping[UUID, Any], after: Mapping[UUID, Any]
) -> None:
    changed = [key for key in sorted(after) if after[key] != before.get(key)]
    rows = [after[key]._asdict() for key in changed]
    db.upsert_rows(conn, projection.table, rows)


def _add_timeline(conn: Connection, entries: Sequence[TimelineEntry]) -> set[UUID]:
    """Inserts what is not there yet; returns the message ids that were new."""
    rows = [entry._asdict() for entry in entries]
    return set(db.insert_new_rows(conn, order_timeline, rows, order_timeline.c.message_id))


def _advance(conn: Connection, positions: Positions) -> None:
    """Stores the next offsets; a late batch of a former owner never takes them back."""
    rows = [
        {"topic": topic, "partition": partition, "next_offset": offset}
        for (topic, partition), offset in sorted(positions.items())
    ]
    if not rows:
        return
    statement = insert(projection_offsets).values(rows)
    further = sa.func.greatest(projection_offsets.c.next_offset, statement.excluded.next_offset)
    conn.execute(
        statement.on_conflict_do_update(
            index_elements=["topic", "partition"], set_={"next_offset": further}
        )
    )


def _row(record: Any, columns: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(record, name) for name in columns}


def _any(keys: Collection[UUID]) -> Any:
    return sa.any_(sa.bindparam(None, list(keys), ARRAY(sa.Uuid), unique=True))
