"""All projections of the read model. Each folds the events of an order into one row of its table.

Another one is a file with two pure functions, a table with a migration, and a line here.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

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
    """A table with one row an order: what the row is after one more event (of None: the first).

    ``row`` is its dataclass; the fields are the columns that are written.
    """

    table: sa.Table
    row: type[Any]
    project: Callable[[Any, TimelineEntry], Any]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that are written."""
        return tuple(field.name for field in fields(self.row))


VIEW = Projection(tables.order_view, views.OrderView, views.project)
"""The first one: its row is what an order is locked by."""

OTHERS = (Projection(tables.order_search, search.OrderSearch, search.project),)
PROJECTIONS = (VIEW, *OTHERS)
