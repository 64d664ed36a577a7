"""The projection: pure functions that fold the events of one order into one view.

Standard library only. Events of one order arrive from several topics in any order, some of them
twice, so each aggregate (order, reservation, payment, message) owns its columns and its last
sequence. An event says two kinds of things:

* *state*, such as a status with its reason: replaced as a whole, by a newer event only;
* *facts*, such as a total: true of the order for ever, filled in by whoever brings them first.

Every arrival order of the same events therefore ends in the same view.

Rows are named tuples: a rebuild makes millions of them, and a frozen dataclass takes twice as long.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

PENDING = "pending"
SECRETS = frozenset({"payment_token"})


class TimelineEntry(NamedTuple):
    """One event of an order, as it was read: a row of the order's timeline."""

    order_id: UUID
    message_id: UUID
    tenant_id: str
    event_type: str
    source: str
    sequence: int
    time: datetime
    correlation_id: str
    causation_id: str | None
    actor_id: str
    topic: str
    partition: int
    offset: int
    data: Mapping[str, Any]  # as JSON has it: times are text


class OrderView(NamedTuple):
    """All that is known of one order; a column is None until an event brings it.

    ``began_at`` is the time of its earliest event, ``ended_at`` of its first ending. Money is in
    minor units. A ``*_sequence`` is the newest version seen of that aggregate, 0 for none.
    """

    order_id: UUID
    tenant_id: str
    began_at: datetime
    updated_at: datetime

    customer_id: str | None = None
    currency: str | None = None
    total: int | None = None
    lines: list[dict[str, Any]] | None = None
    pay_by: datetime | None = None
    placed_at: datetime | None = None
    ended_at: datetime | None = None
    status: str | None = None
    reason: str | None = None
    order_sequence: int = 0

    reservation_status: str | None = None
    short: list[dict[str, Any]] | None = None
    reservation_sequence: int = 0

    payment_id: str | None = None
    payment_status: str | None = None
    payment_reason: str | None = None
    captured: int | None = None
    refunded: int | None = None
    payment_sequence: int = 0

    message_kind: str | None = None
    message_status: str | None = None
    message_reason: str | None = None
    message_sequence: int = 0


_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Said(NamedTuple):
    """What one event says about its aggregate."""

    state: Mapping[str, Any] = _NOTHING
    facts: Mapping[str, Any] = _NOTHING


def begin(entry: TimelineEntry) -> OrderView:
    """The view of an order of which nothing is known but that ``entry`` exists."""
    return OrderView(entry.order_id, entry.tenant_id, entry.time, entry.time)


def project(view: OrderView | None, entry: TimelineEntry) -> OrderView:
    """The view after one more event; a repeat gives the same view again."""
    return fold(view, [entry])


def fold(view: OrderView | None, entries: Sequence[TimelineEntry]) -> OrderView:
    """The view after some more events of the order, at least one."""
    draft = (view or begin(entries[0]))._asdict()
    for entry in entries:
        _take_in(draft, entry)
    return OrderView._make(draft.values())


def _take_in(draft: dict[str, Any], entry: TimelineEntry) -> None:
    """One more event. What is not told by ``said_by`` without an error changes nothing."""
    aggregate, said_by = PROJECTIONS[entry.event_type]
    said = said_by(entry)
    sequence = f"{aggregate}_sequence"
    # Pending means that no ending is known yet: any ending replaces it.
    open_order = aggregate == "order" and draft["status"] in (None, PENDING)
    newer = open_order or entry.sequence > draft[sequence]
    for name, value in said.facts.items():
        if draft[name] is None:
            draft[name] = value
    if newer:
        draft |= said.state
    draft[sequence] = max(draft[sequence], entry.sequence)
    if "status" in said.state:
        draft["ended_at"] = min(draft["ended_at"] or entry.time, entry.time)
    if entry.time < draft["began_at"]:
        draft["began_at"] = entry.time
    if entry.time > draft["updated_at"]:
        draft["updated_at"] = entry.time


def is_repeat_or_older(view: OrderView | None, entry: TimelineEntry) -> bool:
    """True where the view has seen this version of the event's aggregate or a later one."""
    aggregate, _ = PROJECTIONS[entry.event_type]
    return view is not None and entry.sequence <= getattr(view, f"{aggregate}_sequence")


def _order_placed(entry: TimelineEntry) -> Said:
    wanted = ("customer_id", "currency", "total", "lines")
    facts = {name: entry.data[name] for name in wanted}
    pay_by = datetime.fromisoformat(entry.data["pay_by"])
    return Said(facts={**facts, "pay_by": pay_by, "placed_at": entry.time, "status": PENDING})


def _order(status: str) -> "Reading":
    def said(entry: TimelineEntry) -> Said:
        data = entry.data
        known = ("customer_id", "currency", "total")
        return Said(
            state={"status": status, "reason": data.get("reason")},
            facts={name: data[name] for name in known if name in data},
        )

    return "order", said


def _reservation(status: str) -> "Reading":
    def said(entry: TimelineEntry) -> Said:
        facts = {"short": entry.data["short"]} if "short" in entry.data else {}
        return Said(state={"reservation_status": status}, facts=facts)

    return "reservation", said


def _payment(status: str, amount_column: str | None = None) -> "Reading":
    def said(entry: TimelineEntry) -> Said:
        facts = {"payment_id": entry.data["payment_id"]}
        if amount_column:
            facts[amount_column] = entry.data["amount"]
        reason = entry.data.get("reason")
        return Said(state={"payment_status": status, "payment_reason": reason}, facts=facts)

    return "payment", said


def _message(status: str) -> "Reading":
    def said(entry: TimelineEntry) -> Said:
        reason = entry.data.get("reason")
        kind = entry.data["kind"]
        return Said({"message_kind": kind, "message_status": status, "message_reason": reason})

    return "message", said


Reading = tuple[str, Callable[[TimelineEntry], Said]]

PROJECTIONS: Mapping[str, Reading] = MappingProxyType(
    {
        "OrderPlaced": ("order", _order_placed),
        "OrderConfirmed": _order("confirmed"),
        "OrderCancelled": _order("cancelled"),
        "OrderNeedsAttention": _order("needs_attention"),
        "StockReserved": _reservation("reserved"),
        "StockRejected": _reservation("rejected"),
        "StockReleased": _reservation("released"),
        "PaymentCaptured": _payment("captured", "captured"),
        "PaymentDeclined": _payment("declined"),
        "PaymentRefunded": _payment("refunded", "refunded"),
        "RefundFailed": _payment("refund_failed"),
        "EmailSent": _message("sent"),
        "EmailFailed": _message("failed"),
    }
)
