"""The read model as a shadow rebuild sees it: the live agent's reading and projecting, in bulk."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.engine import Connection

from services.eventkit.codec import Codec
from services.eventkit.positions import Place
from services.eventkit.rebuild.copying import copy_rows
from services.eventkit.rebuild.model import Folded, Rows
from services.eventkit.records import Poison, RawRecord
from services.eventkit.schemas import Schemas
from services.projector import batch, letters, projections, store
from services.projector.projections import PROJECTIONS, Projection
from services.projector.settings import TOPICS
from services.projector.stored import offsets_in
from services.projector.tables import order_timeline
from services.projector.views import TimelineEntry

# The timeline first: the rest is folded from it. The view last: readers look at it first.
_TABLES = (order_timeline, *(projection.table for projection in reversed(PROJECTIONS)))
_UNITED_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True)
class OrderModel:
    """Timelines of orders and all projections of them.

    ``registry_url`` is asked for the versions of schemas that are not ours.
    """

    registry_url: str
    topics: Sequence[str] = TOPICS
    name: str = "projector"

    @property
    def version(self) -> int:
        """Of the projection as this code has it."""
        return projections.VERSION

    @property
    def tables(self) -> Sequence[sa.Table]:
        """The timeline, and one a projection."""
        return _TABLES

    def positions(self, conn: Connection) -> Mapping[Place, int]:
        """The next offsets, stored with each batch."""
        stored = offsets_in(conn)
        return {place: offset for place, offset in stored.items() if place[0] in self.topics}

    def fold(self, records: Iterable[RawRecord]) -> Folded:
        """Timeline rows, and the rows of projections as far as these records tell them."""
        entries, poisons = self._read(records)
        orders = projections.by_order(entries).values()
        rows: dict[str, Rows] = {
            projection.table.name: [projection.fold(None, some) for some in orders]
            for projection in PROJECTIONS
        }
        rows[order_timeline.name] = entries
        return Folded(rows, [letters.row(poison) for poison in poisons])

    def unite(self, conn: Connection, table: sa.Table) -> None:
        """Of repeats the first stays; a row in parts is folded again from its timeline."""
        if table is order_timeline:
            conn.execute(_REPEATS)
            return
        (projection,) = (one for one in PROJECTIONS if one.table is table)
        key = table.c.order_id
        in_parts = sa.select(key).group_by(key).having(sa.func.count() > 1)
        keys = iter(conn.execute(in_parts).scalars().all())
        while some := list(islice(keys, _UNITED_AT_ONCE)):
            _fold_again(conn, projection, some)

    def apply(self, conn: Connection, records: Sequence[RawRecord]) -> None:
        """The live agent's way, without its offsets."""
        entries, poisons = self._read(records)
        store.take_in(conn, entries)
        store.put_aside(conn, poisons)

    def refused(self, record: RawRecord, error: Exception) -> Mapping[str, Any]:
        """The letter of a record that a rule or the database refuses."""
        found = batch.read_record(record, _codec(self.registry_url))
        assert isinstance(found, batch.Read)
        return letters.row(batch.poison_of(found.message, error))

    def _read(self, records: Iterable[RawRecord]) -> tuple[list[TimelineEntry], list[Poison]]:
        """What can be read, of which nothing but the entry is kept, and what cannot."""
        codec = _codec(self.registry_url)
        entries: list[TimelineEntry] = []
        poisons: list[Poison] = []
        for record in records:
            found = batch.read_record(record, codec)
            if isinstance(found, batch.Read):
                entries.append(found.entry)
            elif found is not None:
                poisons.append(found)
        return entries, poisons


@cache
def _codec(registry_url: str) -> Codec:
    return Codec(Schemas.load(), registry_url)


_ENTRY = order_timeline.c
_REPEATS = sa.text("""
DELETE FROM order_timeline t USING (
    SELECT ctid AS place, row_number() OVER
        (PARTITION BY order_id, message_id ORDER BY topic, partition, "offset") AS nth
    FROM order_timeline) repeats
WHERE t.ctid = repeats.place AND repeats.nth > 1""")


def _fold_again(conn: Connection, projection: Projection, order_ids: list[UUID]) -> None:
    wanted = sa.any_(sa.bindparam("ids", order_ids, ARRAY(sa.Uuid)))
    rows = conn.execute(sa.select(order_timeline).where(_ENTRY.order_id == wanted)).mappings()
    folded = projection.folded({}, [TimelineEntry(**row) for row in rows])
    conn.execute(sa.delete(projection.table).where(projection.table.c.order_id == wanted))
    copy_rows(conn, projection.table, list(folded.values()))
