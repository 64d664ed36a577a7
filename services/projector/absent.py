"""Orders that the read model has lost: their events are in the log, their row is not there.

A topic, or a part of one, tells only its own part of an order. Where a replay is going to find an
order whose row is gone, all topics have to be read again, from when that order's events began.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.engine import Engine

from services.eventkit.positions import Place
from services.eventkit.rebuild import feed
from services.projector.tables import order_view

_BATCH = 10_000
_PRESENT = sa.select(order_view.c.order_id).where(
    order_view.c.order_id == sa.any_(sa.bindparam("ids", type_=ARRAY(sa.Uuid)))
)


@dataclass(frozen=True, slots=True)
class Absent:
    """How many orders have no row, and when the first record of one was written (Unix ms)."""

    orders: int
    since_ms: int


def find(bootstrap: str, engine: Engine, ranges: Mapping[Place, range]) -> Absent | None:
    """The orders of these offsets that have no row; None where all are there.

    Reads keys and times only, which is far quicker than projecting. Raises `Unreachable`.
    """
    first_seen: dict[UUID, int] = {}
    for key, written_ms in _keys(bootstrap, ranges):
        first_seen[key] = min(written_ms, first_seen.get(key, written_ms))
    lost = [first_seen[key] for key in _without_row(engine, sorted(first_seen))]
    return Absent(len(lost), min(lost)) if lost else None


def _without_row(engine: Engine, keys: Sequence[UUID]) -> Iterator[UUID]:
    with engine.connect() as conn:
        for start in range(0, len(keys), _BATCH):
            some = keys[start : start + _BATCH]
            present = set(conn.execute(_PRESENT, {"ids": list(some)}).scalars())
            yield from (key for key in some if key not in present)


def _keys(bootstrap: str, ranges: Mapping[Place, range]) -> Iterator[tuple[UUID, int]]:
    for written_ms, record in feed.read(bootstrap, ranges):
        key = _uuid(record.key)
        if key is not None:
            yield key, written_ms


def _uuid(key: bytes | None) -> UUID | None:
    """The order's id; None for a record that the projector puts aside anyway."""
    try:
        return UUID((key or b"").decode())
    except ValueError:
        return None
