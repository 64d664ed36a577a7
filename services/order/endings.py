"""How long orders take to their first ending, for the metrics."""

from typing import Final

from prometheus_client import Histogram

from services.order.domain import CANCELLED, PENDING, Order

SECONDS: Final = Histogram(
    "saga_order_seconds",
    "Time from placing an order to its first ending, by ending",
    ["ending"],
    buckets=(0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 900, 3600),
)


def measure(before: Order | None, after: Order | None) -> None:
    """Observes an order that has just come to its first ending."""
    if before is None or after is None or before.status != PENDING or after.ended_at is None:
        return
    ending = f"cancelled:{after.reason}" if after.status == CANCELLED else after.status
    SECONDS.labels(ending).observe((after.ended_at - after.placed_at).total_seconds())
