"""Readers of the events know every order exactly as the order service does."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from services.orderctl.verify.data import Copy, Order, Payment, Snapshot
from services.orderctl.verify.finding import Finding, finding

ATTENTION = "needs_attention"


def read_model_agrees(snapshot: Snapshot) -> Finding:
    """The projector's view of every order is the order database's."""
    return _agrees(snapshot, snapshot.views, "read model")


def analytics_agrees(snapshot: Snapshot) -> Finding:
    """Analytics' row of every order is the order database's."""
    return _agrees(snapshot, snapshot.figures, "analytics")


def _agrees(snapshot: Snapshot, copies: Mapping[str, Copy], reader: str) -> Finding:
    def problems() -> Iterator[str]:
        for order in snapshot.orders.values():
            copy = copies.get(order.order_id)
            if copy is None:
                yield f"{order.order_id} is missing in the {reader}"
                continue
            expected = _copy(order, snapshot.payments.get(order.order_id))
            if _same_reason(expected, copy) != expected:
                yield f"{order.order_id}: {_difference(expected, copy, reader)}"
        for order_id in copies.keys() - snapshot.orders.keys():
            if copies[order_id].total is not None:
                yield f"{order_id} is in the {reader}, but there is no such order"

    return finding(len(copies), problems())


def _copy(order: Order, payment: Payment | None) -> Copy:
    captured, refunded = (payment.captured, payment.refunded) if payment else (0, 0)
    return Copy(order.status, order.reason, order.currency, order.total, captured, refunded)


def _same_reason(expected: Copy, found: Copy) -> Copy:
    """The order keeps why it was cancelled; a reader is told why it needs attention instead."""
    return replace(found, reason=expected.reason) if found.status == ATTENTION else found


def _difference(expected: Copy, found: Copy, reader: str) -> str:
    names = [n for n in Copy.__slots__ if getattr(expected, n) != getattr(found, n)]
    return ", ".join(
        f"{name} is {getattr(expected, name)}, in the {reader} {getattr(found, name)}"
        for name in names
    )
