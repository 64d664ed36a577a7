"""Every order has ended or names what it waits for; reservation and payment ended with it."""

from collections.abc import Iterator, Mapping

from services.orderctl.verify.data import Order, Snapshot
from services.orderctl.verify.finding import Finding, finding

FINAL = {"confirmed", "cancelled", "needs_attention"}

Allowed = Mapping[str, set[str | None]]

RESERVATIONS: Allowed = {
    "confirmed": {"reserved"},
    "cancelled": {None, "rejected", "released", "cancelled"},
    "needs_attention": {"released", "cancelled"},
}
"""Order status -> what its reservation may be; None is none at all."""

PAYMENTS: Allowed = {
    "confirmed": {"captured"},
    "cancelled": {None, "declined", "voided", "refunded", "cancelled"},
    "needs_attention": {"refund_failed"},
}


def orders_ended(snapshot: Snapshot) -> Finding:
    """Every order is final, or says which step it waits for with its deadline still to come."""

    def problems() -> Iterator[str]:
        for order in snapshot.orders.values():
            if order.status in FINAL:
                continue
            if not order.waiting_for:
                yield f"{order.order_id} is {order.status} and does not say what it waits for"
            elif order.pay_by < snapshot.now:
                yield f"{order.order_id} still waits for {order.waiting_for} after its deadline"

    return finding(len(snapshot.orders), problems())


def reservations_ended(snapshot: Snapshot) -> Finding:
    """The reservation of every ended order is final too, and fits the ending."""
    return _fits(
        snapshot,
        "reservation",
        {key: reservation.status for key, reservation in snapshot.reservations.items()},
        RESERVATIONS,
    )


def payments_ended(snapshot: Snapshot) -> Finding:
    """The payment of every ended order is final too, and fits the ending."""
    return _fits(
        snapshot,
        "payment",
        {key: payment.status for key, payment in snapshot.payments.items()},
        PAYMENTS,
    )


def _fits(
    snapshot: Snapshot,
    what: str,
    found: dict[str, str],
    allowed: Allowed,
) -> Finding:
    def problems() -> Iterator[str]:
        for order in snapshot.orders.values():
            status = found.get(order.order_id)
            if order.status in FINAL and status not in allowed[order.status]:
                yield f"{order.order_id} is {_ending(order)}, its {what} is {status or 'missing'}"
        for key in found.keys() - snapshot.orders.keys():
            if found[key] != "cancelled":
                yield f"there is a {what} ({found[key]}) for {key}, but no such order"

    return finding(len(found), problems())


def _ending(order: Order) -> str:
    return f"{order.status}:{order.reason}" if order.reason else order.status
