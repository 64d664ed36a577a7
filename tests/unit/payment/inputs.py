"""Every input that payment knows, ready to be given to its rules."""

from dataclasses import replace
from uuid import uuid4

from services.eventkit.decision import Event
from services.payment.domain import refund_key
from services.payment.handlers import HANDLERS
from tests.unit.ruleset import ORDER, Ruleset, event

RESERVED = {"amount": 4200, "currency": "EUR", "payment_token": "tok_ok"}
CANCELLED = {
    "customer_id": "c-1",
    "total": 4200,
    "currency": "EUR",
    "reason": "customer_request",
}
TOLD = {"status": "captured", "amount": 4200, "currency": "EUR", "reason": None}


def refund_failed(reason: str, key: str = refund_key(ORDER)) -> Event:
    """The result of a refund that was asked for under this key."""
    return event("refund.failed", {"reason": reason, "asked": {"key": key}})


INPUTS = {
    "reserved": event("StockReserved", RESERVED),
    "cancelled": event("OrderCancelled", CANCELLED),
    "captured": event("charge.succeeded", {"status": "captured", "reason": ""}),
    "declined": event("charge.succeeded", {"status": "declined", "reason": "card_expired"}),
    "charge voided": event("charge.succeeded", {"status": "voided", "reason": "voided"}),
    "charge refused": event("charge.failed", {"reason": "unknown_currency"}),
    "voided": event("void.succeeded", {"status": "voided"}),
    "void declined": event("void.succeeded", {"status": "declined"}),
    "void captured": event("void.succeeded", {"status": "captured"}),
    "captured by word": event("confirmation.succeeded", {"asked": TOLD}),
    "refunded": event("refund.succeeded", {}),
    "refund failed": refund_failed("refund_refused"),
    "retry": event("RetryRefund", {}),
}

MORE = {
    "told": event("ProviderTold", TOLD),
    "declined by word": event(
        "confirmation.succeeded", {"asked": {**TOLD, "status": "declined", "reason": "stolen"}}
    ),
}
"""Inputs that are like others, and so not played in every order."""


def again(name: str) -> Event:
    """The input under a new id."""
    return replace((INPUTS | MORE)[name], id=uuid4())


def after(*names: str) -> Ruleset:
    """Payment's rules once these inputs have been decided, in order."""
    rules = Ruleset(HANDLERS)
    for name in names:
        rules.give(again(name))
    return rules
