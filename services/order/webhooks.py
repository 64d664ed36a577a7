"""The rules of webhooks: who is told of an order's ending, and when a message is tried again.

Pure. A delivery has one id for all its attempts, so a receiver can tell a repeat.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, Literal, get_args

from services.eventkit.decision import APPLIED, Decision, Event, Facts, NewJob, ignored
from services.order.domain import Order

JOB: Final = "webhook"
ENABLED, DISABLED = "enabled", "disabled"
PENDING, DELIVERED, DEAD, CANCELLED = "pending", "delivered", "dead", "cancelled"
TEST: Final = "webhook.test"
EventName = Literal["order.confirmed", "order.cancelled", "order.needs_attention"]
EVENTS: Final[tuple[EventName, ...]] = get_args(EventName)

ATTEMPTS: Final = 20
"""With the pauses below they take about a day."""
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 4 * 3600.0
OLD_SECRETS: Final = 10
"""So many may be valid beside the newest: each signs every message."""
_LATER: Final = 200  # attempts after the first give way to first ones


@dataclass(frozen=True, slots=True)
class OldSecret:
    """A secret that was followed by another, and until when it is valid beside it."""

    secret: str
    until: datetime


@dataclass(frozen=True, slots=True)
class Webhook:
    """An address that a tenant wants to be told at, and of what."""

    webhook_id: str
    tenant_id: str
    url: str
    events: tuple[str, ...]
    secret: str
    old_secrets: tuple[OldSecret, ...] = ()
    status: str = ENABLED
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message to one webhook; ``key`` is the order it is about, or the webhook itself."""

    delivery_id: str
    webhook_id: str
    tenant_id: str
    key: str
    event_type: str
    payload: Mapping[str, Any]
    created_at: datetime
    updated_at: datetime
    status: str = PENDING
    attempts: int = 0
    answer: int | None = None
    error: str | None = None
    next_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Disabled:
    """Nothing more is to be sent to a webhook, and why not."""

    webhook_id: str
    reason: str


def rotated(webhook: Webhook, secret: str, now: datetime, grace: timedelta) -> Webhook:
    """The same with a new secret; those before it are valid for ``grace`` more, at most.

    All of them: who asks again because an answer was lost has a receiver with an older one.
    """
    until = now + grace
    before = (OldSecret(webhook.secret, until), *webhook.old_secrets)
    kept = [replace(old, until=min(old.until, until)) for old in before]
    valid = tuple(old for old in kept if now < old.until)
    return replace(webhook, secret=secret, old_secrets=valid)


def told(decision: Decision[Order], event: Event, facts: Facts) -> Decision[Order]:
    """The same decision, and a message to each webhook that wants to know of it."""
    order = decision.state
    if order is None or not decision.emits:
        return decision
    name = f"order.{order.status}"
    webhooks: tuple[Webhook, ...] = facts.related.get(of_tenant(order.tenant_id), ())
    new = [
        Delivery(
            delivery_id=f"msg_{event.id.hex}{webhook.webhook_id[-8:]}",
            webhook_id=webhook.webhook_id,
            tenant_id=order.tenant_id,
            key=order.key,
            event_type=name,
            payload=message(name, _data(order), facts.now),
            created_at=facts.now,
            updated_at=facts.now,
        )
        for webhook in webhooks
        if name in webhook.events
    ]
    return replace(
        decision,
        jobs=(*decision.jobs, *(_job(delivery, None) for delivery in new)),
        related={**decision.related, **{_name(delivery): delivery for delivery in new}},
    )


def send(delivery: Delivery) -> Decision[Order]:
    """A person wants a message sent, for the first time or again."""
    return Decision(APPLIED, jobs=(_job(delivery, None),), related={_name(delivery): delivery})


def again(delivery: Delivery, now: datetime) -> Delivery:
    """The same message with all its attempts before it."""
    return replace(
        delivery, status=PENDING, attempts=0, answer=None, error=None, next_at=None, updated_at=now
    )


def answered(
    delivery: Delivery | None, result: Mapping[str, Any], now: datetime
) -> Decision[Order]:
    """What became of an attempt: delivered, given up, or to be tried again later."""
    if delivery is None or delivery.status != PENDING:
        return Decision(ignored("delivery_over"))
    tried = replace(
        delivery,
        attempts=delivery.attempts + 1,
        answer=result.get("answer"),
        error=result.get("error"),
        next_at=None,
        updated_at=now,
    )
    match result["outcome"]:
        case "delivered":
            return _over(replace(tried, status=DELIVERED))
        case "cancelled":
            return _over(replace(delivery, status=CANCELLED, updated_at=now))
        case "gone":
            decision = _over(replace(tried, status=DEAD))
            off = Disabled(delivery.webhook_id, "the receiver answered 410")
            return replace(decision, related={**decision.related, f"off:{off.webhook_id}": off})
    if tried.attempts >= ATTEMPTS or result["outcome"] == "dead":
        return _over(replace(tried, status=DEAD))
    wait = max(pause(tried.delivery_id, tried.attempts), result.get("retry_after") or 0.0)
    later = replace(tried, next_at=now + timedelta(seconds=wait))
    return Decision("try_later", jobs=(_job(later, later.next_at),), related={_name(later): later})


def pause(delivery_id: str, attempt: int) -> float:
    """Seconds until the next attempt: exponential with jitter, the same for a rerun."""
    ceiling = min(LONGEST_PAUSE, FIRST_PAUSE * 2**attempt)
    return random.Random(f"{delivery_id}:{attempt}").uniform(ceiling / 10, ceiling)


def message(name: str, data: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """The payload that Standard Webhooks recommends."""
    return {"type": name, "timestamp": now.isoformat(timespec="milliseconds"), "data": dict(data)}


def of_tenant(tenant_id: str) -> str:
    """Under which name a tenant's webhooks are among the related rows."""
    return f"webhooks:{tenant_id}"


def delivery_name(delivery_id: str) -> str:
    """Under which name a delivery is among them."""
    return f"delivery:{delivery_id}"


def _name(delivery: Delivery) -> str:
    return delivery_name(delivery.delivery_id)


def _over(delivery: Delivery) -> Decision[Order]:
    return Decision(delivery.status, related={_name(delivery): delivery})


def _job(delivery: Delivery, run_at: datetime | None) -> NewJob:
    args = {"delivery_id": delivery.delivery_id}
    return NewJob(JOB, args, run_at, _LATER if delivery.attempts else 100)


def _data(order: Order) -> dict[str, Any]:
    return {
        "order_id": order.key,
        "customer_id": order.customer_id,
        "status": order.status,
        "reason": order.reason,
        "total": order.total,
        "currency": order.currency,
    }
