"""The second projection: all words by which somebody may look for an order.

Pure, like `views`. Words only ever come to an order, so any arrival order gives the same.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from uuid import UUID

from services.projector.views import TimelineEntry

_PLAIN = {"customer_id", "currency", "payment_id", "reason", "kind"}
_LISTS = {"lines", "short"}


@dataclass(frozen=True, slots=True)
class OrderSearch:
    """An order's words, sorted, each once, with spaces between."""

    order_id: UUID
    tenant_id: str
    words: str


def project(row: OrderSearch | None, entry: TimelineEntry) -> OrderSearch:
    """The row after one more event."""
    row = row or OrderSearch(entry.order_id, entry.tenant_id, str(entry.order_id))
    known = row.words.split(" ")
    new = {word for word in _words(entry) if word not in known}
    return replace(row, words=" ".join(sorted([*known, *new]))) if new else row


def _words(entry: TimelineEntry) -> Iterator[str]:
    data = entry.data
    for name in data.keys() & _PLAIN:
        yield from (data[name] or "").split()
    for name in data.keys() & _LISTS:
        for item in data[name] or ():
            yield from item["sku"].split()
