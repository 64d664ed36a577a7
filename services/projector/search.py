"""The second projection: all words by which somebody may look for an order.

Pure, like `views`. Words only ever come to an order, so any arrival order gives the same.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from uuid import UUID

from services.projector.views import TimelineEntry

_PLAIN = ("customer_id", "currency", "payment_id", "reason", "kind")
_LISTS = ("lines", "short")


@dataclass(frozen=True, slots=True)
class OrderSearch:
    """An order's words, sorted, each once, with spaces between."""

    order_id: UUID
    tenant_id: str
    words: str


def project(row: OrderSearch | None, entry: TimelineEntry) -> OrderSearch:
    """The row after one more event."""
    row = row or OrderSearch(entry.order_id, entry.tenant_id, str(entry.order_id))
    words = {*row.words.split(" "), *_words(entry)}
    return replace(row, words=" ".join(sorted(words)))


def _words(entry: TimelineEntry) -> Iterator[str]:
    data = entry.data
    texts = [data[name] for name in _PLAIN if data.get(name)]
    for text in (*texts, *(item["sku"] for name in _LISTS for item in data.get(name) or ())):
        yield from text.split()
