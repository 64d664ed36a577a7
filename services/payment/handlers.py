"""What payment does with each event and each job's result; the table at the bottom is all of it."""

from services.eventkit.decision import Decision, Event, Facts, On, handlers
from services.payment.domain import (
    ChargeRequest,
    Payment,
    cancel,
    charge,
    charge_answered,
    charge_refused,
    confirmed,
    provider_told,
    refund_failed,
    refund_succeeded,
    retry_refund,
    void_answered,
)


def on_stock_reserved(state: Payment | None, event: Event, facts: Facts) -> Decision[Payment]:
    """Charge the order's amount: its stock is held."""
    request = ChargeRequest(
        key=event.key,
        tenant_id=event.tenant_id,
        amount=event.data["amount"],
        currency=event.data["currency"],
        token=event.data["payment_token"],
    )
    return charge(state, request)


def on_order_cancelled(state: Payment | None, event: Event, facts: Facts) -> Decision[Payment]:
    """Void or refund what was charged, or remember that nothing must ever be."""
    return cancel(state, event.key, event.tenant_id)


def on_charge_succeeded(state: Payment | None, event: Event, facts: Facts) -> Decision[Payment]:
    """Take the provider's answer to a charge: captured, declined or voided."""
    return charge_answered(state, event.data["status"], event.data["reason"])


def on_provider_told(state: Payment | None, command: Event, facts: Facts) -> Decision[Payment]:
    """Keep what the provider has told for later."""
    return provider_told(state, command.data)


def on_confirmation(state: Payment | None, event: Event, facts: Facts) -> Decision[Payment]:
    """Take what the provider has told: captured or declined."""
    return confirmed(state, event.data["asked"])


def on_charge_failed(state: Payment | None, event: Event, facts: Facts) -> Decision[Payment]:
    """Treat a charge that the provider will never make as declined."""
    return charge_refused(state, event.data["reason"])


def on_void_succeeded(state: Payment | None, event: Event, facts: Facts) -> Decision[Payment]:
    """Take what the void found; a capture that came first is refunded."""
    return void_answered(state, event.data["status"])


def on_refund_succeeded(state: Payment | None, event: Event, facts: Facts) -> Decision[Payment]:
    """Record that the money went back."""
    return refund_succeeded(state)


def on_refund_failed(state: Payment | None, event: Event, facts: Facts) -> Decision[Payment]:
    """Say that the money could not be given back."""
    return refund_failed(state, event.data["reason"], event.data["asked"]["key"])


def on_retry_refund(state: Payment | None, event: Event, facts: Facts) -> Decision[Payment]:
    """Try a failed refund again because a person asked for it."""
    return retry_refund(state)


HANDLERS = handlers(
    On("StockReserved", "inventory.events", on_stock_reserved, jobs=("charge",)),
    On(
        "charge.succeeded",
        "job",
        on_charge_succeeded,
        emits=("PaymentCaptured", "PaymentDeclined"),
        jobs=("refund",),
    ),
    On("charge.failed", "job", on_charge_failed, emits=("PaymentDeclined",)),
    On(
        "OrderCancelled",
        "order.events",
        on_order_cancelled,
        jobs=("void", "refund"),
        undoes="charge",
    ),
    On(
        "void.succeeded",
        "job",
        on_void_succeeded,
        emits=("PaymentCaptured",),
        jobs=("refund",),
        undoes="charge",
    ),
    On(
        "refund.succeeded",
        "job",
        on_refund_succeeded,
        emits=("PaymentRefunded",),
        undoes="PaymentCaptured",
    ),
    On("refund.failed", "job", on_refund_failed, emits=("RefundFailed",)),
    On("ProviderTold", "api", on_provider_told, jobs=("confirmation",)),
    On(
        "confirmation.succeeded",
        "job",
        on_confirmation,
        emits=("PaymentCaptured", "PaymentDeclined"),
        jobs=("refund",),
    ),
    On("RetryRefund", "api", on_retry_refund, jobs=("refund",)),
)
