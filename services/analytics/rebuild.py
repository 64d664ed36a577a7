"""The figures as a shadow rebuild sees them: the live consumer's rules, in bulk.

Analytics has no stored offsets. How far it has read is told by its inbox, whose rows are written
with the figures, and where the inbox has forgotten by the offsets that the group has committed.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from itertools import islice

import sqlalchemy as sa
from confluent_kafka.admin import AdminClient
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.engine import Connection

from services.analytics.domain import OrderFigures, merged
from services.analytics.handlers import HANDLERS
from services.analytics.store import figures_of, load_figures, save_figures
from services.analytics.tables import order_figures
from services.eventkit import tables as kit
from services.eventkit.codec import Codec
from services.eventkit.decision import Facts
from services.eventkit.envelope import event_type_of
from services.eventkit.positions import Place, admin_client, committed_offsets, event_places
from services.eventkit.rebuild.copying import copy_rows
from services.eventkit.rebuild.model import Folded
from services.eventkit.records import Message, RawRecord, read
from services.eventkit.schemas import Schemas

VERSION = 1
"""Raised whenever the same events would give other figures."""

TOPICS = tuple(sorted({line.source for line in HANDLERS.values()} - {"api", "job"}))
_UNITED_AT_ONCE = 5_000
_INBOX = kit.inbox.c


@dataclass(frozen=True, slots=True)
class FiguresModel:
    """One row of figures an order. ``group`` is the consumer group of the live model."""

    registry_url: str
    bootstrap: str
    topics: Sequence[str] = TOPICS
    group: str = "analytics"
    name: str = "analytics"

    @property
    def version(self) -> int:
        """Of the figures as this code has them."""
        return VERSION

    @property
    def tables(self) -> Sequence[sa.Table]:
        """The figures alone."""
        return (order_figures,)

    def positions(self, conn: Connection) -> Mapping[Place, int]:
        """Behind the last event of each partition that the live model has taken in.

        What follows and left no trace, repeats and events that nobody here handles, may be
        missing: reading it again changes nothing.
        """
        places = event_places(_admin(self.bootstrap))
        handled = committed_offsets(self.bootstrap, self.group, places)
        last = sa.select(_INBOX.topic, _INBOX.partition, sa.func.max(_INBOX.offset) + 1)
        for topic, partition, offset in conn.execute(last.group_by(_INBOX.topic, _INBOX.partition)):
            handled[topic, partition] = max(offset, handled.get((topic, partition), 0))
        return {place: offset for place, offset in handled.items() if place[0] in self.topics}

    def fold(self, records: Iterable[RawRecord]) -> Folded:
        """Figures as far as these records tell them."""
        rows: dict[str, OrderFigures] = {}
        self._decide(records, rows)
        return Folded({order_figures.name: list(rows.values())})

    def unite(self, conn: Connection, table: sa.Table) -> None:
        """Merges the rows of an order in the order in which they were read."""
        key = order_figures.c.key
        in_parts = sa.select(key).group_by(key).having(sa.func.count() > 1)
        keys = iter(conn.execute(in_parts).scalars().all())
        while some := list(islice(keys, _UNITED_AT_ONCE)):
            _unite(conn, some)

    def apply(self, conn: Connection, records: Sequence[RawRecord]) -> None:
        """Reads the rows of these orders, decides, and writes those that changed."""
        keys = {message.event.key for message in self._messages(records)}
        rows = load_figures(conn, sorted(keys))
        changed = self._decide(records, rows)
        save_figures(conn, [changed[key] for key in sorted(changed)])

    def refused(self, record: RawRecord, error: Exception) -> None:
        """Nothing: the live consumer has put it aside, with a mirror on its topic."""

    def _decide(
        self, records: Iterable[RawRecord], rows: dict[str, OrderFigures]
    ) -> dict[str, OrderFigures]:
        """Runs the rules over ``rows``, which it changes; returns those that changed."""
        changed: dict[str, OrderFigures] = {}
        for message in self._messages(records):
            event = message.event
            rule = HANDLERS[event.type].rule
            try:
                decision = rule(rows.get(event.key), event, Facts(event.time))
            except Exception:  # noqa: S112 - as live: put aside, and there it was told
                continue
            if decision.state is not None:
                rows[event.key] = changed[event.key] = decision.state
        return changed

    def _messages(self, records: Iterable[RawRecord]) -> Iterator[Message]:
        codec = _codec(self.registry_url)
        for record in records:
            if event_type_of(record.headers) in HANDLERS:
                message = read(record, codec)
                if isinstance(message, Message):
                    yield message


def _unite(conn: Connection, keys: list[str]) -> None:
    wanted = order_figures.c.key == sa.any_(sa.bindparam("keys", keys, ARRAY(sa.Text)))
    parts: dict[str, list[OrderFigures]] = defaultdict(list)
    read_in_order = sa.select(order_figures).where(wanted).order_by(sa.literal_column("ctid"))
    for row in conn.execute(read_in_order).mappings():
        parts[row["key"]].append(figures_of(row))
    conn.execute(sa.delete(order_figures).where(wanted))
    copy_rows(conn, order_figures, [reduce(merged, rows) for rows in parts.values()])


@cache
def _admin(bootstrap: str) -> AdminClient:
    return admin_client(bootstrap)


@cache
def _codec(registry_url: str) -> Codec:
    return Codec(Schemas.load(), registry_url)
