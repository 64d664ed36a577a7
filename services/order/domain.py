"""The rules of an order: placed, then confirmed or cancelled by what the other services report.

Pure: no clock, no database, no network. Amounts are minor units of ``currency``; times are UTC.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Final

from services.eventkit.decision import APPLIED, Decision, Emit, NewJob, ignored

PENDING, CONFIRMED, CANCELLED = "pending", "confirmed", "cancelled"
NEEDS_ATTENTION = "needs_attention"

OUT_OF_STOCK, PAYMENT_DECLINED = "out_of_stock", "payment_declined"
CUSTOMER_REQUEST, PAYMENT_TIMEOUT = "customer_request", "payment_timeout"

DEADLINE: Final = "payment_deadline"

# (status, input) -> status. What is not here does not apply, and says so by name.
TRANSITIONS: Final[Mapping[tuple[str, str], str]] = MappingProxyType(
    {
        (PENDING, "StockRejected"): CANCELLED,
        (PENDING, "PaymentDeclined"): CANCELLED,
        (PENDING, "CancelOrder"): CANCELLED,
        (PENDING, "payment_deadline.succeeded"): CANCELLED,
        (PENDING, "PaymentCaptured"): CONFIRMED,
        (PENDING, "PaymentRefunded"): CANCELLED,
        (PENDING, "RefundFailed"): NEEDS_ATTENTION,
        (CANCELLED, "RefundFailed"): NEEDS_ATTENTION,
        (NEEDS_ATTENTION, "PaymentRefunded"): CANCELLED,
    }
)


@dataclass(frozen=True, slots=True)
class Line:
    """One article of an order; ``unit_price`` in minor units."""

    sku: str
    quantity: int
    unit_price: int


@dataclass(frozen=True, slots=True)
class Order:
    """An order and what is known of its stock and payment. Times are UTC."""

    key: str
    tenant_id: str
    customer_id: str
    currency: str
    total: int
    payment_token: str
    pay_by: datetime
    lines: tuple[Line, ...]
    placed_at: datetime
    updated_at: datetime
    waiting_since: datetime
    trace_id: str | None = None
    status: str = PENDING
    reason: str | None = None
    stock: str = "requested"
    payment: str = "requested"
    ended_at: datetime | None = None
    version: int = 0

    @property
    def waiting_for(self) -> str | None:
        """The step that a pending order waits for; an ended order waits for nothing."""
        if self.status != PENDING:
            return None
        return "stock" if self.stock == "requested" else "payment"


def total_of(lines: tuple[Line, ...]) -> int:
    """The sum of the lines in minor units."""
    return sum(line.quantity * line.unit_price for line in lines)


def place(order: Order | None, new: Order) -> Decision[Order]:
    """A customer orders. The deadline is a job of the same transaction."""
    if order is not None:
        return Decision(ignored("already_placed"))
    placed = Emit(
        "OrderPlaced",
        {
            "customer_id": new.customer_id,
            "currency": new.currency,
            "total": new.total,
            "payment_token": new.payment_token,
            "pay_by": new.pay_by,
            "lines": [
                {"sku": line.sku, "quantity": line.quantity, "unit_price": line.unit_price}
                for line in new.lines
            ],
        },
    )
    return Decision(APPLIED, new, (placed,), (NewJob(DEADLINE, run_at=new.pay_by),))


def note_stock(order: Order | None, stock: str, now: datetime) -> Decision[Order]:
    """Stock was reserved or released: progress that the customer can see."""
    if order is None:
        return Decision(ignored("unknown_order"))
    if order.stock == stock or order.stock == "released":
        return Decision(ignored(f"stock_already_{order.stock}"))
    waiting_since = now if order.status == PENDING else order.waiting_since
    return Decision(
        APPLIED, replace(order, stock=stock, waiting_since=waiting_since, updated_at=now)
    )


def confirm(order: Order | None, amount: int, sequence: int, now: datetime) -> Decision[Order]:
    """The payment was captured. One that lands after a cancel is refunded by payment, not here.

    ``sequence`` counts what the payment has said. A capture that is not its first word follows a
    decline, which may still be on its way: payment refunds it, and the order ends as declined.
    """
    if order is None:
        return Decision(ignored("unknown_order"))
    if amount != order.total:
        raise ValueError(f"captured {amount}, the order's total is {order.total}")
    if (order.status, "PaymentCaptured") not in TRANSITIONS:
        return _note_late_capture(order, now)
    if sequence > 1:
        return cancel(order, "PaymentDeclined", PAYMENT_DECLINED, now)
    confirmed = replace(_ended(order, CONFIRMED, None, now), payment="captured")
    return Decision(
        APPLIED, confirmed, (Emit("OrderConfirmed", _summary(order)),), cancel_jobs=(DEADLINE,)
    )


def cancel(order: Order | None, because: str, reason: str, now: datetime) -> Decision[Order]:
    """Undoes `place`: the other services give back what they hold when they hear of it.

    ``because`` is the input, ``reason`` what the customer is told.
    """
    if order is None:
        return Decision(ignored("unknown_order"))
    if (order.status, because) not in TRANSITIONS:
        return Decision(ignored(f"already_{order.status}"))
    cancelled = _ended(order, CANCELLED, reason, now)
    if reason == OUT_OF_STOCK:
        cancelled = replace(cancelled, stock="rejected")
    if reason == PAYMENT_DECLINED:
        cancelled = replace(cancelled, payment="declined")
    return Decision(APPLIED, cancelled, (_cancelled(cancelled),), cancel_jobs=(DEADLINE,))


def note_refund(order: Order | None, now: datetime) -> Decision[Order]:
    """The money is back. An order that needed attention for it is a plain cancelled one again.

    Of a pending order only a charge that was declined first is ever refunded: the order ends as
    declined, though the decline itself is still on its way.
    """
    if order is None:
        return Decision(ignored("unknown_order"))
    if order.payment == "refunded":
        return Decision(ignored("already_refunded"))
    refunded = replace(_declined(order, now), payment="refunded", updated_at=now)
    if (order.status, "PaymentRefunded") in TRANSITIONS:
        refunded = replace(refunded, status=CANCELLED)
        return Decision(APPLIED, refunded, (_cancelled(refunded),), cancel_jobs=(DEADLINE,))
    return Decision(APPLIED, refunded)


def need_attention(order: Order | None, reason: str, now: datetime) -> Decision[Order]:
    """A refund was refused for good: a person must act, so the order never looks settled.

    A pending order ends as declined first, as in `note_refund`: others have to give back too.
    """
    if order is None:
        return Decision(ignored("unknown_order"))
    if order.payment == "refunded":
        return Decision(ignored("already_refunded"))
    if (order.status, "RefundFailed") not in TRANSITIONS:
        return Decision(ignored(f"already_{order.status}"))
    cancelled = _declined(order, now)
    first = (_cancelled(cancelled),) if order.status == PENDING else ()
    state = replace(cancelled, status=NEEDS_ATTENTION, payment="refund_failed", updated_at=now)
    attention = Emit("OrderNeedsAttention", {"reason": reason})
    return Decision(APPLIED, state, (*first, attention), cancel_jobs=(DEADLINE,))


def _note_late_capture(order: Order, now: datetime) -> Decision[Order]:
    if order.status == CANCELLED and order.payment == "requested":
        late = replace(order, payment="captured", updated_at=now)
        return Decision("refund_due", late)
    return Decision(ignored(f"already_{order.status}"))


def _declined(order: Order, now: datetime) -> Order:
    """A pending order, cancelled because its payment was declined; any other one as it is."""
    if order.status != PENDING:
        return order
    return _ended(order, CANCELLED, PAYMENT_DECLINED, now)


def _ended(order: Order, status: str, reason: str | None, now: datetime) -> Order:
    return replace(order, status=status, reason=reason, ended_at=now, updated_at=now)


def _cancelled(order: Order) -> Emit:
    return Emit("OrderCancelled", {**_summary(order), "reason": order.reason})


def _summary(order: Order) -> dict[str, object]:
    return {
        "customer_id": order.customer_id,
        "total": order.total,
        "currency": order.currency,
    }
