"""The events of one order as they travel, for every way an order can go."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from services.projector.views import TimelineEntry

ORDER = UUID("0b0f6a52-6f4e-4f0e-9f30-000000000001")
BEGAN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LINES = [{"sku": "CUP", "quantity": 2, "unit_price": 750}]
PLACED = {
    "customer_id": "c-1",
    "currency": "EUR",
    "total": 1500,
    "lines": LINES,
    "pay_by": "2026-03-01T12:15:00.000Z",
}
CLOSED = {"customer_id": "c-1", "currency": "EUR", "total": 1500}
PAID = {"payment_id": "p-1", "amount": 1500, "currency": "EUR"}
RESERVED = {"amount": 1500, "currency": "EUR"}

Step = tuple[str, int, dict[str, Any]]

CONFIRMED: list[Step] = [
    ("OrderPlaced", 1, PLACED),
    ("StockReserved", 1, RESERVED),
    ("PaymentCaptured", 1, PAID),
    ("OrderConfirmed", 2, CLOSED),
    ("EmailSent", 1, {"kind": "confirmed"}),
]
OUT_OF_STOCK: list[Step] = [
    ("OrderPlaced", 1, PLACED),
    ("StockRejected", 1, {"short": [{"sku": "CUP", "wanted": 2, "available": 1}]}),
    ("OrderCancelled", 2, {**CLOSED, "reason": "out_of_stock"}),
    ("EmailFailed", 1, {"kind": "cancelled", "reason": "unknown_contact"}),
]
DECLINED: list[Step] = [
    ("OrderPlaced", 1, PLACED),
    ("StockReserved", 1, RESERVED),
    ("PaymentDeclined", 1, {**PAID, "reason": "insufficient_funds"}),
    ("OrderCancelled", 2, {**CLOSED, "reason": "payment_declined"}),
    ("StockReleased", 2, {"lines": [{"sku": "CUP", "quantity": 2}]}),
    ("EmailSent", 1, {"kind": "cancelled"}),
]
REFUND_IN_TROUBLE: list[Step] = [
    ("OrderPlaced", 1, PLACED),
    ("StockReserved", 1, RESERVED),
    ("OrderCancelled", 2, {**CLOSED, "reason": "customer_request"}),
    ("StockReleased", 2, {"lines": [{"sku": "CUP", "quantity": 2}]}),
    ("PaymentCaptured", 1, PAID),
    ("RefundFailed", 2, {**PAID, "reason": "attempts_exhausted"}),
    ("OrderNeedsAttention", 3, {"reason": "refund_failed"}),
    ("PaymentRefunded", 3, PAID),
    ("OrderCancelled", 4, {**CLOSED, "reason": "customer_request"}),
]
STORIES = {
    "confirmed": CONFIRMED,
    "out_of_stock": OUT_OF_STOCK,
    "declined": DECLINED,
    "refund_in_trouble": REFUND_IN_TROUBLE,
}


def entry(step: Step, position: int, order_id: UUID = ORDER) -> TimelineEntry:
    """One step as the timeline entry it becomes; ``position`` sets its time and its offset."""
    event_type, sequence, data = step
    return TimelineEntry(
        order_id=order_id,
        message_id=uuid5(NAMESPACE_URL, f"{order_id}/{event_type}/{sequence}"),
        tenant_id="demo",
        event_type=event_type,
        source="/services/order",
        sequence=sequence,
        time=BEGAN + timedelta(milliseconds=40 * position),
        correlation_id="req-1",
        causation_id=None,
        actor_id="c-1",
        topic="order.events",
        partition=0,
        offset=position,
        data=data,
    )


def entries(story: list[Step]) -> list[TimelineEntry]:
    """A whole story, in the order it happened."""
    return [entry(step, position) for position, step in enumerate(story)]
