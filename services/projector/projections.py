"""All projections of the read model. Each folds the events of an order into one row of its table.

Another one is a file with two pure functions, a table with a migration, and a line here.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from services.projector import search, tables, views
from services.projector.views import TimelineEntry

VERSION = 2
"""Raised whenever the same events would give other rows, or a projection is added.

Code writes a read model of its own version alone; another one is made by ``orderctl replay
--shadow``.
"""


@dataclass(frozen=True, slots=True)
class Projection:
    """A table with one row an order: what the row is after some more events (of None: the first).

    ``row`` is its named tuple; the fields are the columns that are written.
    """

    table: sa.Table
    row: type[Any]
    fold: Callable[[Any, Sequence[TimelineEntry]], Any]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that are written."""
        return tuple(self.row._fields)

    def folded(self, rows: Mapping[UUID, Any], entries: Iterable[TimelineEntry]) -> dict[UUID, Any]:
        """The rows by order after some more events, order by order."""
        after = dict(rows)
        for order_id, some in by_order(entries).items():
            after[order_id] = self.fold(after.get(order_id), some)
        return after


def by_order(entries: Iterable[TimelineEntry]) -> dict[UUID, list[TimelineEntry]]:
    """The entries of each order, as they came."""
    found: dict[UUID, list[TimelineEntry]] = defaultdict(list)
    for entry in entries:
        found[entry.order_id].append(entry)
    return found


VIEW = Projection(tables.order_view, views.OrderView, views.fold)
"""The first one: its row is what an order is locked by."""

OTHERS = (Projection(tables.order_search, search.OrderSearch, search.fold),)
PROJECTIONS = (VIEW, *OTHERS)
