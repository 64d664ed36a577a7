"""Every event of every service, read into its order's row; the table registers them all."""

from services.analytics.domain import READERS, OrderFigures, read
from services.eventkit.decision import Decision, Event, Facts, On, handlers


def on_event(state: OrderFigures | None, event: Event, _facts: Facts) -> Decision[OrderFigures]:
    """Merge what the event tells into its order's row."""
    reading = READERS[event.type](event.data, event.time)
    return read(state, event.key, event.tenant_id, event.sequence, reading)


HANDLERS = handlers(
    On("OrderPlaced", "order.events", on_event),
    On("OrderConfirmed", "order.events", on_event),
    On("OrderCancelled", "order.events", on_event),
    On("OrderNeedsAttention", "order.events", on_event),
    On("StockReserved", "inventory.events", on_event),
    On("StockRejected", "inventory.events", on_event),
    On("StockReleased", "inventory.events", on_event),
    On("PaymentCaptured", "payment.events", on_event),
    On("PaymentDeclined", "payment.events", on_event),
    On("PaymentRefunded", "payment.events", on_event),
    On("RefundFailed", "payment.events", on_event),
    On("EmailSent", "email.events", on_event),
    On("EmailFailed", "email.events", on_event),
)
