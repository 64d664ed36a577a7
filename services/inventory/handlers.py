"""What inventory does with each event; the table at the bottom is the only registration."""

from services.eventkit.decision import Decision, Event, Facts, On, handlers
from services.inventory.domain import Line, Placement, Reservation, release, reserve


def on_order_placed(state: Reservation | None, event: Event, facts: Facts) -> Decision[Reservation]:
    """Hold the order's lines or reject it."""
    order = Placement(
        key=event.key,
        tenant_id=event.tenant_id,
        lines=tuple(Line(line["sku"], line["quantity"]) for line in event.data["lines"]),
        amount=event.data["total"],
        currency=event.data["currency"],
        payment_token=event.data["payment_token"],
    )
    return reserve(state, order, facts.related)


def on_order_cancelled(
    state: Reservation | None, event: Event, facts: Facts
) -> Decision[Reservation]:
    """Give the order's lines back, or remember that it must never hold any."""
    return release(state, event.key, event.tenant_id, facts.related)


HANDLERS = handlers(
    On(
        "OrderPlaced",
        "order.events",
        on_order_placed,
        emits=("StockReserved", "StockRejected"),
    ),
    On(
        "OrderCancelled",
        "order.events",
        on_order_cancelled,
        emits=("StockReleased",),
        undoes="StockReserved",
    ),
)
