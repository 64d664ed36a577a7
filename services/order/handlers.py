"""What the order service reacts to, and the rule each input meets: the table at the bottom."""

from datetime import datetime
from typing import Final

from services.eventkit.decision import Decision, Event, Facts, On, handlers
from services.order import domain, webhooks
from services.order.domain import Line, Order
from services.order.webhooks import JOB, told

Result = Decision[Order]


def on_place_order(order: Order | None, command: Event, facts: Facts) -> Result:
    """The API's command to place an order; ``data`` was validated by the API."""
    lines = tuple(Line(**line) for line in command.data["lines"])
    pay_by: datetime = command.data["pay_by"]
    new = Order(
        key=command.key,
        tenant_id=command.tenant_id,
        customer_id=command.data["customer_id"],
        currency=command.data["currency"],
        total=domain.total_of(lines),
        payment_token=command.data["payment_token"],
        pay_by=pay_by,
        lines=lines,
        placed_at=facts.now,
        updated_at=facts.now,
        waiting_since=facts.now,
        trace_id=command.data["trace_id"],
    )
    return domain.place(order, new)


def on_stock_reserved(order: Order | None, event: Event, facts: Facts) -> Result:
    """Progress: from now on the order waits for its payment."""
    return domain.note_stock(order, "reserved", facts.now)


def on_stock_released(order: Order | None, event: Event, facts: Facts) -> Result:
    """Progress: a cancelled order's stock is back."""
    return domain.note_stock(order, "released", facts.now)


def on_payment_captured(order: Order | None, event: Event, facts: Facts) -> Result:
    """The last step forward, unless it overtakes a decline."""
    return told(
        domain.confirm(order, event.data["amount"], event.sequence, facts.now), event, facts
    )


def on_stock_rejected(order: Order | None, event: Event, facts: Facts) -> Result:
    """Nothing was reserved, so there is nothing to give back but the order itself."""
    return told(domain.cancel(order, event.type, domain.OUT_OF_STOCK, facts.now), event, facts)


def on_payment_declined(order: Order | None, event: Event, facts: Facts) -> Result:
    """Nothing was captured; the stock goes back when inventory hears of the cancel."""
    return told(domain.cancel(order, event.type, domain.PAYMENT_DECLINED, facts.now), event, facts)


def on_cancel_order(order: Order | None, command: Event, facts: Facts) -> Result:
    """The customer changed their mind while the order was pending."""
    return told(
        domain.cancel(order, command.type, domain.CUSTOMER_REQUEST, facts.now), command, facts
    )


def on_deadline(order: Order | None, event: Event, facts: Facts) -> Result:
    """``pay_by`` has passed."""
    return told(domain.cancel(order, event.type, domain.PAYMENT_TIMEOUT, facts.now), event, facts)


def on_payment_refunded(order: Order | None, event: Event, facts: Facts) -> Result:
    """Progress, and the way out of ``needs_attention``; a pending order was declined before."""
    return told(domain.note_refund(order, facts.now), event, facts)


def on_refund_failed(order: Order | None, event: Event, facts: Facts) -> Result:
    """A compensation failed for good; a pending order was declined before."""
    return told(domain.need_attention(order, event.data["reason"], facts.now), event, facts)


def on_send_webhook(order: Order | None, command: Event, facts: Facts) -> Result:
    """A person wants a message sent to a webhook."""
    return webhooks.send(command.data["delivery"])


def on_webhook_answered(order: Order | None, event: Event, facts: Facts) -> Result:
    """What became of an attempt to tell a webhook."""
    name = webhooks.delivery_name(event.data["asked"]["delivery_id"])
    return webhooks.answered(facts.related.get(name), event.data, facts.now)


def on_webhook_failed(order: Order | None, event: Event, facts: Facts) -> Result:
    """The attempt itself went wrong, and not by the receiver's doing: it is given up."""
    name = webhooks.delivery_name(event.data["asked"]["delivery_id"])
    result = {"outcome": "dead", "error": event.data["reason"]}
    return webhooks.answered(facts.related.get(name), result, facts.now)


HANDLERS: Final = handlers(
    On("PlaceOrder", "api", on_place_order, ("OrderPlaced",), (domain.DEADLINE,)),
    On("CancelOrder", "api", on_cancel_order, ("OrderCancelled",), (JOB,), undoes="PlaceOrder"),
    On("StockReserved", "inventory.events", on_stock_reserved),
    On("StockReleased", "inventory.events", on_stock_released),
    On(
        "StockRejected",
        "inventory.events",
        on_stock_rejected,
        ("OrderCancelled",),
        (JOB,),
        undoes="PlaceOrder",
    ),
    On(
        "PaymentCaptured",
        "payment.events",
        on_payment_captured,
        ("OrderConfirmed", "OrderCancelled"),
        (JOB,),
    ),
    On(
        "PaymentDeclined",
        "payment.events",
        on_payment_declined,
        ("OrderCancelled",),
        (JOB,),
        undoes="PlaceOrder",
    ),
    On("PaymentRefunded", "payment.events", on_payment_refunded, ("OrderCancelled",), (JOB,)),
    On(
        "RefundFailed",
        "payment.events",
        on_refund_failed,
        ("OrderCancelled", "OrderNeedsAttention"),
        (JOB,),
    ),
    On(
        f"{domain.DEADLINE}.succeeded",
        "job",
        on_deadline,
        ("OrderCancelled",),
        (JOB,),
        undoes="PlaceOrder",
    ),
    On("SendWebhook", "api", on_send_webhook, jobs=(JOB,)),
    On(f"{JOB}.succeeded", "job", on_webhook_answered, jobs=(JOB,)),
    On(f"{JOB}.failed", "job", on_webhook_failed),
)
