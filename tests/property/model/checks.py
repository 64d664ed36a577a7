"""What must be true of a world: always, and once it has come to rest.

Each check is a function that yields the problems it finds; its name is the name of the guarantee.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from services.email.domain import FAILED, SENT, message_id
from services.inventory.domain import RESERVED
from services.order.domain import CANCELLED, CONFIRMED, NEEDS_ATTENTION, Order
from services.payment.domain import Payment
from tests.property.model import database as db
from tests.property.model.world import Placed, World

Check = Callable[[World], Iterator[str]]

RESERVATIONS = {
    CONFIRMED: {"reserved"},
    CANCELLED: {"rejected", "released", "cancelled"},
    NEEDS_ATTENTION: {"released", "cancelled"},
}
"""What a reservation is at rest, by the status of its order."""

PAYMENTS = {
    CONFIRMED: {"captured"},
    CANCELLED: {"declined", "voided", "cancelled", "refunded"},
    NEEDS_ATTENTION: {"refund_failed"},
}

_PARTS = {"reservation": "inventory", "payment": "payment", "message": "email"}

_LIVES = re.compile(
    "OrderPlaced( OrderConfirmed| OrderCancelled( OrderNeedsAttention OrderCancelled)*"
    "( OrderNeedsAttention)?)?"
)
"""What an order may say in its life."""


class Violation(AssertionError):
    """A guarantee that a history has broken."""

    def __init__(self, check: str, problem: str) -> None:
        super().__init__(f"{check}: {problem}")
        self.check = check


def expect(world: World, checks: tuple[Check, ...]) -> None:
    """Raises `Violation` for the first problem found."""
    for check in checks:
        for problem in check(world):
            raise Violation(check.__name__, problem)


# --- always


def stock_adds_up(world: World) -> Iterator[str]:
    """Imported = available + held, and held is what reservations hold."""
    database = world.services["inventory"].database
    held: Counter[str] = Counter()
    for reservation in database.states.values():
        if reservation.status == RESERVED:
            for line in reservation.lines:
                held[line.sku] += line.quantity
    for stock in database.related.values():
        if stock.imported != stock.available + stock.held or stock.available < 0:
            yield f"{stock}"
        if stock.held != held[stock.sku]:
            yield f"{stock}, but {held[stock.sku]} is reserved"


def money_moves_once(world: World) -> Iterator[str]:
    """At most one capture and one refund of an order, each of its total."""
    moved = Counter((entry.kind, entry.order) for entry in world.provider.ledger)
    for (kind, key), count in moved.items():
        if count > 1:
            yield f"{count} entries of kind {kind} for {world.name_of(key)}"
    totals = {order.key: sum(order.lines.values()) * 100 for order in world.orders}
    for entry in world.provider.ledger:
        if entry.amount != totals[entry.order]:
            yield f"{entry}, not {totals[entry.order]}"


def confirmed_is_paid(world: World) -> Iterator[str]:
    """A confirmed order's money is with us, and no refund has been made of it."""
    moved = {(entry.kind, entry.order) for entry in world.provider.ledger}
    for key, order in world.services["order"].database.states.items():
        paid = ("capture", key) in moved and ("refund", key) not in moved
        if order.status == CONFIRMED and not paid:
            yield f"{world.name_of(key)} is confirmed, the ledger says {sorted(moved)}"


def versions_are_contiguous(world: World) -> Iterator[str]:
    """An aggregate's events are numbered 1, 2, 3 ... up to its version, each under its own id."""
    for name, service in world.services.items():
        numbers: dict[str, list[int]] = defaultdict(list)
        for row in service.database.outbox:
            numbers[row.envelope.subject].append(row.envelope.sequence)
        for key, found in numbers.items():
            if found != list(range(1, len(found) + 1)):
                yield f"{name}, {world.name_of(key)}: {found}"
        for key, state in service.database.states.items():
            if state.version != len(numbers[key]):
                yield f"{name}, {world.name_of(key)}: version {state.version}, {numbers[key]}"
        ids = {row.envelope.message_id for row in service.database.outbox}
        if len(ids) != len(service.database.outbox):
            yield f"{name}: a message id twice in its outbox"


def orders_end_once(world: World) -> Iterator[str]:
    """An order is confirmed for ever, or cancelled; only attention has it say that again."""
    said: dict[str, list[str]] = defaultdict(list)
    for row in world.services["order"].database.outbox:
        said[row.envelope.subject].append(row.envelope.event_type)
    for key, types in said.items():
        if not _LIVES.fullmatch(" ".join(types)):
            yield f"{world.name_of(key)}: {types}"


ALWAYS: tuple[Check, ...] = (
    stock_adds_up,
    money_moves_once,
    confirmed_is_paid,
    versions_are_contiguous,
    orders_end_once,
)


# --- at rest


def every_order_ended(world: World) -> Iterator[str]:
    """Every order is confirmed, cancelled or in need of attention."""
    for order in world.orders:
        state = _order(world, order)
        if state is not None and state.status not in RESERVATIONS:
            yield f"{order.name} is {state.status}, waiting for {state.waiting_for}"


def parts_agree(world: World) -> Iterator[str]:
    """Reservation and payment have ended as their order has."""
    for order in world.orders:
        state = _order(world, order)
        if state is None:
            continue
        for name, allowed in (("inventory", RESERVATIONS), ("payment", PAYMENTS)):
            part = world.services[name].database.states.get(order.key)
            status = part.status if part is not None else None
            if status not in allowed[state.status]:
                yield f"{order.name} is {state.status}, in {name} it is {status}"


def money_adds_up(world: World) -> Iterator[str]:
    """Captured - refunded = total of the confirmed, in payment and in the ledger."""
    for order in world.orders:
        state = _order(world, order)
        payment = _payment(world, order)
        if state is None or state.status == NEEDS_ATTENTION:
            continue
        due = state.total if state.status == CONFIRMED else 0
        ledger = Counter[str]()
        for entry in world.provider.ledger:
            if entry.order == order.key:
                ledger[entry.kind] += entry.amount
        kept = payment.captured - payment.refunded
        theirs = (ledger["capture"], ledger["refund"])
        if (payment.captured, payment.refunded) != theirs or kept != due:
            yield f"{order.name} is {state.status}: {payment}, the provider has {dict(ledger)}"


def one_mail_each(world: World) -> Iterator[str]:
    """One mail of an order, about its ending; a copy only where the first one's fate was lost."""
    for order in world.orders:
        state = _order(world, order)
        if state is None:
            continue
        kind = CONFIRMED if state.status == CONFIRMED else CANCELLED
        mailing = world.services["email"].database.states.get(order.key)
        messages = mailing.messages if mailing is not None else ()
        statuses = {message.kind: message.status for message in messages}
        if statuses not in ({kind: SENT}, {kind: FAILED}):
            yield f"{order.name} is {state.status}, its messages are {messages}"
            continue
        copies = world.mail_server.copies[message_id(order.key, kind)]
        lost = world.lost_mails[message_id(order.key, kind)]
        sent = statuses[kind] == SENT
        if not sent <= copies <= sent + lost:
            yield f"{order.name}: {copies} copies, {lost} results lost, {messages}"
    if world.mail_server.copies.keys() - {
        message_id(order.key, kind) for order in world.orders for kind in (CONFIRMED, CANCELLED)
    }:
        yield "a mail about no order"


def read_model_agrees(world: World) -> Iterator[str]:
    """The projector's view of an order is what the services know."""
    for order in world.orders:
        known = _known(world, order)
        if known is None:
            continue
        parts = {
            part: world.services[name].database.states[order.key] for part, name in _PARTS.items()
        }
        expected = {
            **known.facts,
            "lines": [
                {"sku": line.sku, "quantity": line.quantity, "unit_price": line.unit_price}
                for line in known.order.lines
            ],
            "pay_by": known.order.pay_by,
            "order_sequence": known.order.version,
            **{f"{part}_sequence": state.version for part, state in parts.items()},
            "reservation_status": known.reservation,
            "payment_status": known.payment,
        }
        yield from _differences(order, expected, world.projector.views.get(UUID(order.key)))


def analytics_agrees(world: World) -> Iterator[str]:
    """The figures of an order are what the services know."""
    for order in world.orders:
        known = _known(world, order)
        if known is None:
            continue
        mailing = world.services["email"].database.states[order.key]
        expected = {
            **known.facts,
            "reservation": known.reservation,
            "payment": known.payment,
            "mails": tuple(message.kind for message in mailing.messages if message.status == SENT),
        }
        figures = world.services["analytics"].database.states.get(order.key)
        yield from _differences(order, expected, figures)


def nothing_is_lost(world: World) -> Iterator[str]:
    """Every event is on its topic, was handled by all who read it, and no work is left."""
    there = {message.id for message in world.topics.everything()}
    for name, service in world.services.items():
        for row in service.database.outbox:
            if row.envelope.message_id not in there:
                yield f"{row.envelope.event_type} of {name} is on no topic"
        decided = {one.event.id for one in service.database.decided}
        for message in world.topics.everything():
            if service.handles(message.event) and message.id not in decided:
                yield f"{name} never handled {message.event.type}"
        if service.database.letters:
            yield f"{name} still has letters"
        for job in service.database.jobs.values():
            if job.status in (db.PENDING, db.RUNNING) or job.rule_failed:
                yield f"{job.kind} of {name} is {job.status}"
    if there != world.projector.timeline.keys():
        yield "the timeline lacks events"


AT_REST: tuple[Check, ...] = (
    every_order_ended,
    parts_agree,
    money_adds_up,
    one_mail_each,
    read_model_agrees,
    analytics_agrees,
    nothing_is_lost,
)


def no_order_needs_attention(world: World) -> Iterator[str]:
    """Once people have done their part, no order needs them any more."""
    for order in world.orders:
        state = _order(world, order)
        if state is not None and state.status == NEEDS_ATTENTION:
            yield f"{order.name} still needs attention"


AFTER_REPAIR: tuple[Check, ...] = (no_order_needs_attention, *AT_REST)


def _order(world: World, order: Placed) -> Order | None:
    state: Order | None = world.services["order"].database.states.get(order.key)
    return state


def _payment(world: World, order: Placed) -> Payment:
    found = world.services["payment"].database.states.get(order.key)
    return found or Payment(order.key, "demo", "none")


@dataclass(frozen=True, slots=True)
class Known:
    """What the services know of an order, and what they have told of its parts."""

    order: Order
    facts: Mapping[str, Any]
    reservation: str | None
    payment: str | None


def _known(world: World, placed: Placed) -> Known | None:
    order = _order(world, placed)
    if order is None:
        return None
    payment = _payment(world, placed)
    reservation = world.services["inventory"].database.states[placed.key]
    names = ["customer_id", "currency", "total", "placed_at", "ended_at", "status"]
    if order.status != NEEDS_ATTENTION:  # readers are told why it needs attention instead
        names.append("reason")
    facts = {name: getattr(order, name) for name in names}
    money = {"captured": payment.captured or None, "refunded": payment.refunded or None}
    return Known(order, facts | money, _told(reservation.status), _told(payment.status))


def _told(status: str) -> str | None:
    """The status that readers have heard of: what was never more than asked for has no event."""
    return None if status in ("cancelled", "voided") else status


def _differences(order: Placed, expected: dict[str, Any], found: Any) -> Iterator[str]:
    for name, value in expected.items():
        if getattr(found, name, None) != value:
            yield f"{order.name}: {name} is {value}, found {getattr(found, name, None)}"
