"""Keep one row per order right, whatever order its events arrive in.

Order, reservation, payment and message number their own events, so the row remembers the highest
number seen of each. A newer event replaces what its aggregate says about its present state. Lasting
facts (a total, an amount captured) are filled in by whichever event brings them and never change.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from services.eventkit.decision import APPLIED, Decision, ignored

Data = Mapping[str, Any]

ORDER = "order_sequence"
RESERVATION = "reservation_sequence"
PAYMENT = "payment_sequence"
MESSAGE = "message_sequence"


@dataclass(frozen=True, slots=True)
class OrderFigures:
    """What is known of one order; None is "not heard of yet".

    Money is in minor units; ``ended_at`` is the time of its first ending.
    """

    key: str
    tenant_id: str
    order_sequence: int = 0
    status: str | None = None
    reason: str | None = None
    customer_id: str | None = None
    currency: str | None = None
    total: int | None = None
    placed_at: datetime | None = None
    ended_at: datetime | None = None
    reservation_sequence: int = 0
    reservation: str | None = None
    payment_sequence: int = 0
    payment: str | None = None
    captured: int | None = None
    refunded: int | None = None
    message_sequence: int = 0
    mails: tuple[str, ...] = ()
    version: int = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """What one event tells: ``aggregate`` names the sequence column that guards its state.

    ``state`` counts only while nothing newer was read; ``facts`` hold for ever; ``ended_at`` is
    the time of an ending; ``mail`` is the kind of a mail that was sent.
    """

    aggregate: str
    state: Data
    facts: Data = field(default_factory=dict)
    ended_at: datetime | None = None
    mail: str | None = None


def read(
    row: OrderFigures | None, key: str, tenant_id: str, sequence: int, reading: Reading
) -> Decision[OrderFigures]:
    """Merge one event into the order's row; an older one fills gaps and overwrites nothing."""
    before = row or OrderFigures(key, tenant_id)
    changes = {name: value for name, value in reading.facts.items() if _empty(before, name)}
    if sequence > getattr(before, reading.aggregate):
        changes |= {**reading.state, reading.aggregate: sequence}
    if reading.ended_at is not None:
        changes["ended_at"] = min(before.ended_at or reading.ended_at, reading.ended_at)
    if reading.mail is not None:
        changes["mails"] = tuple(sorted({*before.mails, reading.mail}))
    after = replace(before, **changes)
    return Decision(ignored("nothing_new")) if after == row else Decision(APPLIED, after)


def merged(first: OrderFigures, second: OrderFigures) -> OrderFigures:
    """One row of two that were read from different events, those of ``first`` before."""
    changes: dict[str, Any] = {}
    for sequence, names in _STATE.items():
        if getattr(second, sequence) > getattr(first, sequence):
            changes |= {name: getattr(second, name) for name in (sequence, *names)}
    changes |= {name: getattr(second, name) for name in _FACTS if _empty(first, name)}
    changes["ended_at"] = min(filter(None, (first.ended_at, second.ended_at)), default=None)
    changes["mails"] = tuple(sorted({*first.mails, *second.mails}))
    return replace(first, **changes)


_STATE = {
    ORDER: ("status", "reason"),
    RESERVATION: ("reservation",),
    PAYMENT: ("payment",),
    MESSAGE: (),
}
_FACTS = ("customer_id", "currency", "total", "placed_at", "captured", "refunded")


def _empty(row: OrderFigures, name: str) -> bool:
    return getattr(row, name) is None


def _order_placed(data: Data, time: datetime) -> Reading:
    return Reading(ORDER, _status("pending"), {**_sale(data), "placed_at": time})


def _order_confirmed(data: Data, time: datetime) -> Reading:
    return Reading(ORDER, _status("confirmed"), _sale(data), ended_at=time)


def _order_cancelled(data: Data, time: datetime) -> Reading:
    return Reading(ORDER, _status("cancelled", data["reason"]), _sale(data), ended_at=time)


def _order_needs_attention(data: Data, time: datetime) -> Reading:
    return Reading(ORDER, _status("needs_attention", data["reason"]), ended_at=time)


def _status(status: str, reason: str | None = None) -> Data:
    return {"status": status, "reason": reason}


def _sale(data: Data) -> Data:
    return {name: data[name] for name in ("customer_id", "total", "currency")}


def _reservation(status: str) -> "Reader":
    return lambda _data, _time: Reading(RESERVATION, {"reservation": status})


def _payment(status: str, fact: str | None = None) -> "Reader":
    def reading(data: Data, _time: datetime) -> Reading:
        facts = {"currency": data["currency"]} | ({fact: data["amount"]} if fact else {})
        return Reading(PAYMENT, {"payment": status}, facts)

    return reading


def _mail_sent(data: Data, _time: datetime) -> Reading:
    return Reading(MESSAGE, {}, mail=data["kind"])


def _mail_failed(_data: Data, _time: datetime) -> Reading:
    return Reading(MESSAGE, {})


Reader = Callable[[Data, datetime], Reading]

READERS: Mapping[str, Reader] = {
    "OrderPlaced": _order_placed,
    "OrderConfirmed": _order_confirmed,
    "OrderCancelled": _order_cancelled,
    "OrderNeedsAttention": _order_needs_attention,
    "StockReserved": _reservation("reserved"),
    "StockRejected": _reservation("rejected"),
    "StockReleased": _reservation("released"),
    "PaymentCaptured": _payment("captured", fact="captured"),
    "PaymentDeclined": _payment("declined"),
    "PaymentRefunded": _payment("refunded", fact="refunded"),
    "RefundFailed": _payment("refund_failed"),
    "EmailSent": _mail_sent,
    "EmailFailed": _mail_failed,
}
"""What each event tells: the whole behaviour of this service."""
