"""Orders that the read model has lost: their events are in the log, their row is not there.

A topic tells only its own part of an order. Where a replay is going to find an order whose row is
gone, the other topics have to be read again too, from when that order's events began.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa
from confluent_kafka import Consumer, TopicPartition
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.engine import Engine

from services.eventkit.positions import Place, client_config
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

    Reads keys and times only, which is far quicker than projecting.
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
    left = {place: offsets.stop for place, offsets in ranges.items() if offsets}
    consumer = Consumer(
        client_config(bootstrap) | {"group.id": "replay-plan", "enable.auto.commit": False}
    )
    try:
        consumer.assign([TopicPartition(*place, ranges[place].start) for place in left])
        while left:
            for message in consumer.consume(1000, timeout=1.0):
                topic, partition, offset = message.topic(), message.partition(), message.offset()
                if message.error() or topic is None or partition is None or offset is None:
                    continue
                if offset + 1 >= left.get((topic, partition), 0):
                    left.pop((topic, partition), None)
                key = _uuid(message.key())
                if key is not None:
                    yield key, message.timestamp()[1]
    finally:
        consumer.close()


def _uuid(key: str | bytes | None) -> UUID | None:
    """The order's id; None for a record that the projector puts aside anyway."""
    try:
        return UUID(key.decode() if isinstance(key, bytes) else key)
    except (ValueError, UnicodeDecodeError, TypeError):
        return None
