"""Email's inputs for an order of one's own choice."""

from services.eventkit.decision import Event
from tests.unit.email.inputs import SALE
from tests.unit.ruleset import event


def confirmed(key: str, customer_id: str = "c-1") -> Event:
    """The order is confirmed."""
    return event("OrderConfirmed", {**SALE, "customer_id": customer_id}, key)


def cancelled(key: str, customer_id: str = "c-1") -> Event:
    """The order is cancelled."""
    data = {**SALE, "customer_id": customer_id, "reason": "out_of_stock"}
    return event("OrderCancelled", data, key)


def taken(key: str, kind: str) -> Event:
    """The mail server took the mail."""
    return event(f"mail_{kind}.succeeded", {}, key)


def refused(key: str, kind: str, reason: str) -> Event:
    """The mail will not be sent."""
    return event(f"mail_{kind}.failed", {"reason": reason}, key)
