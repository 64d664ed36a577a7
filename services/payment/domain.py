"""Take an order's money once, and give it back when the order is cancelled: the rules of payments.

The provider is asked by jobs; their results come back here as inputs named after the job. A capture
that the order can no longer use is refunded, whenever and however often it is reported.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from services.eventkit.decision import APPLIED, ATTEMPTS_EXHAUSTED, Decision, Emit, NewJob, ignored

PENDING = "pending"
CAPTURED = "captured"
DECLINED = "declined"
VOIDING = "voiding"
"""The order was cancelled while a charge may be under way: the provider is asked to stop it."""
VOIDED = "voided"
CANCELLED = "cancelled"
"""Cancelled before a charge was asked for: the row remembers it, so that none is made later."""
REFUNDING = "refunding"
REFUNDED = "refunded"
REFUND_FAILED = "refund_failed"

REFUND_DUE = "refund_due"
"""The outcome of a capture that came too late: the money goes back."""

TRANSITIONS: Mapping[tuple[str | None, str], str] = {
    (None, "StockReserved"): PENDING,
    (None, "OrderCancelled"): CANCELLED,
    (PENDING, "charge.succeeded:captured"): CAPTURED,
    (PENDING, "charge.succeeded:declined"): DECLINED,
    (PENDING, "charge.succeeded:voided"): DECLINED,
    (PENDING, "charge.failed"): DECLINED,
    (PENDING, "confirmation.succeeded:captured"): CAPTURED,
    (PENDING, "confirmation.succeeded:declined"): DECLINED,
    (PENDING, "OrderCancelled"): VOIDING,
    (CAPTURED, "OrderCancelled"): REFUNDING,
    (VOIDING, "void.succeeded:voided"): VOIDED,
    (VOIDING, "void.succeeded:declined"): VOIDED,
    (VOIDING, "void.succeeded:captured"): REFUNDING,
    (VOIDING, "charge.succeeded:captured"): REFUNDING,
    (VOIDED, "charge.succeeded:captured"): REFUNDING,
    (DECLINED, "charge.succeeded:captured"): REFUNDING,
    (VOIDING, "confirmation.succeeded:captured"): REFUNDING,
    (VOIDED, "confirmation.succeeded:captured"): REFUNDING,
    (DECLINED, "confirmation.succeeded:captured"): REFUNDING,
    (REFUNDING, "refund.succeeded"): REFUNDED,
    (REFUNDING, "refund.failed"): REFUND_FAILED,
    (REFUND_FAILED, "refund.succeeded"): REFUNDED,
    (REFUND_FAILED, "RetryRefund"): REFUNDING,
}
"""(status, input) -> status; None is an order never seen. After a colon: the case of an input."""

IGNORED: Mapping[str | None, str] = {
    None: "no_payment",
    PENDING: "charge_pending",
    CAPTURED: "already_captured",
    DECLINED: "already_declined",
    VOIDING: "void_pending",
    VOIDED: "already_voided",
    CANCELLED: "order_cancelled",
    REFUNDING: "refund_pending",
    REFUNDED: "already_refunded",
    REFUND_FAILED: "refund_failed",
}
"""Why a payment in this status lets an input pass that has no transition."""


@dataclass(frozen=True, slots=True)
class Payment:
    """The money of one order, in minor units: refunded <= captured <= amount, always."""

    key: str
    tenant_id: str
    status: str
    amount: int = 0
    currency: str = ""
    captured: int = 0
    refunded: int = 0
    reason: str = ""
    refunds_refused: int = 0
    version: int = 0


@dataclass(frozen=True, slots=True)
class ChargeRequest:
    """What to charge for an order; the token stands for the customer's card at the provider."""

    key: str
    tenant_id: str
    amount: int
    currency: str
    token: str


def payment_key(key: str) -> str:
    """The id of an order's payment, by which the provider knows its one charge."""
    return f"payment:{key}"


def refund_key(key: str, refused: int = 0) -> str:
    """The key of an order's refund. Only one that was refused for good is followed by another.

    A provider answers a key the same for ever, so asking again after a refusal needs a new one; it
    cannot pay twice, because the refused one paid nothing and the provider keeps to the capture.
    """
    return f"refund:{key}:{refused}" if refused else f"refund:{key}"


def charge(state: Payment | None, request: ChargeRequest) -> Decision[Payment]:
    """Ask for the money of an order whose stock is held.

    Raises ValueError for an amount or a currency that cannot be charged.
    """
    if request.amount < 1 or len(request.currency) != 3:
        raise ValueError(f"cannot charge {request.amount} {request.currency!r}")
    status = _next(state, "StockReserved")
    if status is None:
        return _ignored(state)
    payment = Payment(request.key, request.tenant_id, status, request.amount, request.currency)
    asked = {"amount": request.amount, "currency": request.currency, "token": request.token}
    return Decision(APPLIED, payment, jobs=(NewJob("charge", asked),))


def cancel(state: Payment | None, key: str, tenant_id: str) -> Decision[Payment]:
    """Undo whatever has been done for a cancelled order: the undo of ``charge``.

    A capture is refunded, a charge under way is voided; before either, a tombstone is left.
    """
    status = _next(state, "OrderCancelled")
    if status is None:
        return _ignored(state)
    if state is None:
        return Decision(APPLIED, Payment(key, tenant_id, status))
    changed = replace(state, status=status)
    if status == REFUNDING:
        return Decision(APPLIED, changed, jobs=(_refund(changed),))
    return Decision(APPLIED, changed, jobs=(NewJob("void"),), cancel_jobs=("charge",))


def charge_answered(state: Payment | None, answer: str, reason: str) -> Decision[Payment]:
    """Record what became of the charge: ``captured``, ``declined`` or ``voided``."""
    return _settled(state, f"charge.succeeded:{answer}", reason or answer)


def provider_told(state: Payment | None, told: Mapping[str, Any]) -> Decision[Payment]:
    """Note what the provider says by itself; it is looked at later, away from its request."""
    if state is None:
        return _ignored(state)
    return Decision(APPLIED, state, jobs=(NewJob("confirmation", told),))


def confirmed(state: Payment | None, told: Mapping[str, Any]) -> Decision[Payment]:
    """Take the provider's own word for the answer to a charge, which is asked for no more.

    Whichever comes first counts, the word or the answer; the other changes nothing.
    """
    if state is None:
        return _ignored(state)
    if (told["amount"], told["currency"]) != (state.amount, state.currency):
        return Decision(ignored("other_amount"))
    reason = told["reason"] or told["status"]
    decision = _settled(state, f"confirmation.succeeded:{told['status']}", reason)
    if decision.state is None or state.status != PENDING:
        return decision
    return replace(decision, cancel_jobs=("charge",))


def charge_refused(state: Payment | None, reason: str) -> Decision[Payment]:
    """Record that the provider will never make this charge."""
    return _settled(state, "charge.failed", reason)


def void_answered(state: Payment | None, answer: str) -> Decision[Payment]:
    """Record what the void found: ``voided``, ``declined``, or ``captured``, which is refunded."""
    return _settled(state, f"void.succeeded:{answer}", answer)


def refund_succeeded(state: Payment | None) -> Decision[Payment]:
    """Record that the captured money went back."""
    status = _next(state, "refund.succeeded")
    if state is None or status is None:
        return _ignored(state)
    changed = replace(state, status=status, refunded=state.captured, reason="")
    return Decision(APPLIED, changed, (_emit("PaymentRefunded", changed, changed.refunded),))


def refund_failed(state: Payment | None, reason: str, key: str) -> Decision[Payment]:
    """Record that the refund of this ``key`` failed for good: a person has to act.

    An earlier refund that is refused once more says nothing about the one that is asked for now.
    """
    status = _next(state, "refund.failed")
    if state is None or status is None:
        return _ignored(state)
    if key != refund_key(state.key, state.refunds_refused):
        return Decision(ignored("earlier_refund"))
    # After attempts that were used up the outcome is unknown: it is asked for under the same key.
    refused = state.refunds_refused + (reason != ATTEMPTS_EXHAUSTED)
    changed = replace(state, status=status, reason=reason, refunds_refused=refused)
    return Decision(APPLIED, changed, (_emit("RefundFailed", changed, changed.captured, reason),))


def retry_refund(state: Payment | None) -> Decision[Payment]:
    """Ask for a failed refund once more."""
    status = _next(state, "RetryRefund")
    if state is None or status is None:
        return _ignored(state)
    changed = replace(state, status=status)
    return Decision(APPLIED, changed, jobs=(_refund(changed),))


def _settled(state: Payment | None, step: str, reason: str) -> Decision[Payment]:
    status = _next(state, step)
    if state is None or status is None:
        return _ignored(state)
    if status in (CAPTURED, REFUNDING):
        return _captured(replace(state, status=status, captured=state.amount))
    changed = replace(state, status=status, reason=reason)
    if status == DECLINED:
        declined = _emit("PaymentDeclined", changed, changed.amount, reason)
        return Decision(APPLIED, changed, (declined,))
    return Decision(APPLIED, changed)


def _captured(payment: Payment) -> Decision[Payment]:
    emit = _emit("PaymentCaptured", payment, payment.captured)
    if payment.status == CAPTURED:
        return Decision(APPLIED, payment, (emit,))
    return Decision(REFUND_DUE, payment, (emit,), jobs=(_refund(payment),), cancel_jobs=("void",))


def _refund(payment: Payment) -> NewJob:
    return NewJob(
        "refund",
        {"amount": payment.captured, "key": refund_key(payment.key, payment.refunds_refused)},
    )


def _emit(event_type: str, payment: Payment, amount: int, reason: str | None = None) -> Emit:
    data: dict[str, Any] = {
        "payment_id": payment_key(payment.key),
        "amount": amount,
        "currency": payment.currency,
    }
    return Emit(event_type, data if reason is None else {**data, "reason": reason})


def _next(state: Payment | None, step: str) -> str | None:
    return TRANSITIONS.get((state.status if state else None, step))


def _ignored(state: Payment | None) -> Decision[Payment]:
    return Decision(ignored(IGNORED[state.status if state else None]))
