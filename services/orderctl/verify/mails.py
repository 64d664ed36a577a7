"""Mails: one per order and kind, and what was sent has arrived once."""

from collections import Counter
from collections.abc import Iterator

from services.orderctl.verify.data import Snapshot
from services.orderctl.verify.finding import Finding, finding

KINDS = {"confirmed": "confirmed", "cancelled": "cancelled"}
"""Order status -> the mail that tells of it."""
DONE = {"sent", "failed"}


def one_mail_each(snapshot: Snapshot) -> Finding:
    """Every ended order has its one mail, sent or failed for a reason."""
    kinds = Counter((message.order_id, message.kind) for message in snapshot.messages)
    done = {(m.order_id, m.kind) for m in snapshot.messages if m.status in DONE}

    def problems() -> Iterator[str]:
        for (order_id, kind), count in kinds.items():
            if count > 1:
                yield f"{order_id}: {count} messages of kind {kind}"
        for order in snapshot.orders.values():
            due = KINDS.get(order.status)
            if due and (order.order_id, due) not in done:
                yield f"{order.order_id} is {order.status}, but its {due} mail is not done"

    return finding(len(snapshot.messages), problems())


def mails_arrived_once(snapshot: Snapshot) -> Finding:
    """The mail server has as many mails of an order as the email service sent, each once."""
    sent = Counter(message.order_id for message in snapshot.messages if message.status == "sent")
    arrived = Counter(mail.order_id for mail in snapshot.mails)
    copies = Counter(mail.message_id for mail in snapshot.mails)

    def problems() -> Iterator[str]:
        for message_id, count in copies.items():
            if count > 1:
                yield f"mail {message_id} arrived {count} times"
        for order_id in sorted(sent.keys() | arrived.keys()):
            if sent[order_id] != arrived[order_id]:
                yield f"{order_id}: {sent[order_id]} mails sent, {arrived[order_id]} arrived"

    return finding(len(snapshot.mails), problems())
