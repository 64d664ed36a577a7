"""The second projection: all words by which somebody may look for an order.

Pure, like `views`. Words only ever come to an order, so any arrival order gives the same.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from uuid import UUID

from services.projector.views import TimelineEntry

_PLAIN = {"customer_id", "currency", "payment_id", "reason", "kind"}
_LISTS = {"lines", "short"}


class OrderSearch(NamedTuple):
    """An order's words, sorted, each once, with spaces between."""

    order_id: UUID
    tenant_id: str
    words: str


def fold(row: OrderSearch | None, entries: Sequence[TimelineEntry]) -> OrderSearch:
    """The row after some more events of the order, at least one."""
    order_id, tenant_id = entries[0].order_id, row.tenant_id if row else entries[0].tenant_id
    known = set(row.words.split(" ")) if row else {str(order_id)}
    return OrderSearch(order_id, tenant_id, " ".join(sorted(known.union(*map(_words, entries)))))


def _words(entry: TimelineEntry) -> Iterator[str]:
    for name, value in entry.data.items():
        if name in _PLAIN:
            yield from (value or "").split()
        elif name in _LISTS:
            for item in value or ():
                yield from item["sku"].split()
