"""Every input that email knows, ready to be given to its rules."""

from dataclasses import replace
from uuid import uuid4

from services.email.handlers import HANDLERS
from services.eventkit.decision import Event
from tests.unit.ruleset import Ruleset, event

SALE = {"customer_id": "c-1", "total": 4200, "currency": "EUR"}

INPUTS = {
    "confirmed": event("OrderConfirmed", SALE),
    "confirmed sent": event("mail_confirmed.succeeded", {}),
    "confirmed failed": event("mail_confirmed.failed", {"reason": "unknown_contact"}),
    "cancelled": event("OrderCancelled", {**SALE, "reason": "out_of_stock"}),
    "cancelled sent": event("mail_cancelled.succeeded", {}),
    "cancelled failed": event("mail_cancelled.failed", {"reason": "smtp_550"}),
}


def again(name: str) -> Event:
    """The input under a new id."""
    return replace(INPUTS[name], id=uuid4())


def after(*names: str) -> Ruleset:
    """Email's rules once these inputs have been decided, in order."""
    rules = Ruleset(HANDLERS)
    for name in names:
        rules.give(again(name))
    return rules
