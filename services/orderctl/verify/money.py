"""Money: what was captured and not refunded is what was sold, here and at the provider."""

from collections import defaultdict
from collections.abc import Iterator

from services.orderctl.verify.data import Snapshot
from services.orderctl.verify.finding import Finding, finding


def money_kept(snapshot: Snapshot) -> Finding:
    """Captured minus refunded is the total of a confirmed order and nothing for a cancelled one.

    An order that needs attention keeps what could not be refunded: that is what it says.
    """

    def problems() -> Iterator[str]:
        for order in snapshot.orders.values():
            payment = snapshot.payments.get(order.order_id)
            kept = payment.captured - payment.refunded if payment else 0
            due = order.total if order.status == "confirmed" else 0
            if order.status in {"confirmed", "cancelled"} and kept != due:
                yield f"{order.order_id} ({order.status}): {kept} {order.currency} kept, {due} due"
            if payment and payment.captured and payment.currency != order.currency:
                yield f"{order.order_id}: captured {payment.currency}, ordered {order.currency}"

    return finding(len(snapshot.orders), problems())


def provider_agrees(snapshot: Snapshot) -> Finding:
    """The provider's ledger has the same money as the payments, with one capture per order."""
    moved: dict[tuple[str, str], int] = defaultdict(int)
    captures: dict[str, int] = defaultdict(int)
    for entry in snapshot.ledger:
        moved[entry.order_id, entry.kind] += entry.amount
        captures[entry.order_id] += entry.kind == "capture"

    def problems() -> Iterator[str]:
        for order_id, payment in snapshot.payments.items():
            for kind, ours in (("capture", payment.captured), ("refund", payment.refunded)):
                theirs = moved.pop((order_id, kind), 0)
                if theirs != ours:
                    yield f"{order_id}: {kind} of {ours} here, {theirs} at the provider"
        for (order_id, kind), theirs in moved.items():
            yield f"{order_id}: {kind} of {theirs} at the provider, no payment here"
        for order_id, count in captures.items():
            if count > 1:
                yield f"{order_id}: captured {count} times at the provider"

    return finding(len(snapshot.ledger), problems())
