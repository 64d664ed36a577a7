"""Every check passes on a sound system and fails on each planted violation it is there for."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from services.orderctl.murmur2 import partition_of
from services.orderctl.verify.checks import CHECKS
from services.orderctl.verify.data import (
    Copy,
    LedgerEntry,
    Letter,
    Mail,
    Message,
    Order,
    OutboxRow,
    Payment,
    Reservation,
    Snapshot,
    Stock,
    TopicRecord,
)
from services.orderctl.verify.stock import stock_adds_up

NOW = datetime(2026, 1, 31, 9, 15, tzinfo=UTC)
MUG, ACME = ("demo", "MUG"), ("acme", "MUG")
SOLD, REFUNDED, SHORT, OPEN, STUCK = "sold", "refunded", "short", "open", "stuck"


def order(order_id: str, status: str, reason: str | None = None, **over: Any) -> Order:
    waiting = "payment" if status == "pending" else None
    fields = {"total": 1000, "waiting_for": waiting, "pay_by": NOW + timedelta(minutes=5)}
    return Order(order_id=order_id, status=status, reason=reason, currency="EUR", **fields | over)


def row(message_id: str, key: str, **over: Any) -> OutboxRow:
    fields: dict[str, Any] = {
        "topic": "order.events",
        "event_type": "OrderPlaced",
        "created_at": NOW,
    }
    return OutboxRow(service="order", message_id=message_id, key=key, **fields | over)


def record(message_id: str | None, key: str | None, **over: Any) -> TopicRecord:
    raw = key.encode() if key is not None else None
    partition = partition_of(raw, 6) if raw is not None else 0
    fields: dict[str, Any] = {
        "topic": "order.events",
        "partition": partition,
        "offset": 7,
        "created_at": NOW,
    }
    return TopicRecord(key=raw, message_id=message_id, **fields | over)


def sound() -> Snapshot:
    copies = {
        SOLD: Copy("confirmed", None, "EUR", 1000, 1000, 0),
        REFUNDED: Copy("cancelled", "customer_request", "EUR", 1000, 1000, 1000),
        SHORT: Copy("cancelled", "out_of_stock", "EUR", 1000, 0, 0),
        OPEN: Copy("pending", None, "EUR", 1000, 0, 0),
        STUCK: Copy("needs_attention", "refund_failed", "EUR", 1000, 1000, 0),
    }
    orders = {key: order(key, copy.status or "", copy.reason) for key, copy in copies.items()}
    orders[STUCK] = order(STUCK, "needs_attention", "customer_request")
    return Snapshot(
        now=NOW,
        kept_since=NOW - timedelta(days=7),
        orders=orders,
        reservations={
            SOLD: Reservation("reserved", {MUG: 2}),
            REFUNDED: Reservation("released", {MUG: 1}),
            SHORT: Reservation("rejected", {}),
            OPEN: Reservation("reserved", {MUG: 3}),
            STUCK: Reservation("released", {MUG: 1}),
        },
        stock={MUG: Stock(imported=10, available=5, held=5)},
        payments={
            SOLD: Payment("captured", "EUR", 1000, 0),
            REFUNDED: Payment("refunded", "EUR", 1000, 1000),
            SHORT: Payment("cancelled", "", 0, 0),
            STUCK: Payment("refund_failed", "EUR", 1000, 0),
        },
        ledger=[
            LedgerEntry("capture", SOLD, "EUR", 1000),
            LedgerEntry("capture", REFUNDED, "EUR", 1000),
            LedgerEntry("refund", REFUNDED, "EUR", 1000),
            LedgerEntry("capture", STUCK, "EUR", 1000),
        ],
        messages=[
            Message(SOLD, "confirmed", "sent"),
            Message(REFUNDED, "cancelled", "sent"),
            Message(SHORT, "cancelled", "failed"),
        ],
        mails=[Mail(SOLD, "m-1"), Mail(REFUNDED, "m-2")],
        outbox=[row("e-1", SOLD), row("e-2", REFUNDED)],
        records=[record("e-1", SOLD), record("e-2", REFUNDED), record("e-2", REFUNDED, offset=8)],
        partitions={"order.events": 6},
        views=copies,
        figures=copies,
    )


Plant = Callable[[Snapshot], Snapshot]


def change(field: str, new: Callable[[Any], Any]) -> Plant:
    def plant(snapshot: Snapshot) -> Snapshot:
        fields: dict[str, Any] = {field: new(getattr(snapshot, field))}
        return replace(snapshot, **fields)

    return plant


def put(field: str, key: object, value: Any) -> Plant:
    return change(field, lambda rows: {**rows, key: value})


def drop(field: str, key: object) -> Plant:
    return change(field, lambda rows: {k: v for k, v in rows.items() if k != key})


def append(field: str, value: Any) -> Plant:
    return change(field, lambda rows: [*rows, value])


def shift(field: str) -> Plant:
    return change(field, lambda rows: rows[1:])


PLANTED: list[tuple[str, str, Plant]] = [
    (
        "orders_ended",
        "waits for nothing",
        put("orders", OPEN, order(OPEN, "pending", waiting_for=None)),
    ),
    (
        "orders_ended",
        "deadline passed",
        put("orders", OPEN, order(OPEN, "pending", pay_by=NOW - timedelta(seconds=1))),
    ),
    (
        "reservations_ended",
        "held for a cancelled order",
        put("reservations", REFUNDED, Reservation("reserved", {MUG: 1})),
    ),
    ("reservations_ended", "sold without a reservation", drop("reservations", SOLD)),
    (
        "reservations_ended",
        "held for nobody",
        put("reservations", "ghost", Reservation("reserved", {})),
    ),
    ("payments_ended", "never charged", drop("payments", SOLD)),
    ("payments_ended", "still pending", put("payments", SHORT, Payment("pending", "EUR", 0, 0))),
    (
        "payments_ended",
        "refund under way",
        put("payments", REFUNDED, Payment("refunding", "EUR", 1000, 0)),
    ),
    ("money_kept", "too little", put("payments", SOLD, Payment("captured", "EUR", 999, 0))),
    (
        "money_kept",
        "not refunded",
        put("payments", REFUNDED, Payment("refunded", "EUR", 1000, 500)),
    ),
    ("money_kept", "other currency", put("payments", SOLD, Payment("captured", "USD", 1000, 0))),
    (
        "provider_agrees",
        "charged twice",
        append("ledger", LedgerEntry("capture", SOLD, "EUR", 1000)),
    ),
    (
        "provider_agrees",
        "unknown here",
        append("ledger", LedgerEntry("capture", "ghost", "EUR", 5)),
    ),
    ("provider_agrees", "never happened", shift("ledger")),
    ("stock_adds_up", "a piece lost", put("stock", MUG, Stock(10, 4, 5))),
    ("stock_adds_up", "a piece too many", put("stock", MUG, Stock(10, 6, 4))),
    (
        "stock_adds_up",
        "given back by nobody",
        put("reservations", SOLD, Reservation("released", {MUG: 2})),
    ),
    ("stock_adds_up", "no such stock", drop("stock", MUG)),
    ("outbox_published", "never left", append("outbox", row("e-3", OPEN))),
    (
        "outbox_published",
        "on another topic",
        append("outbox", row("e-1", SOLD, topic="payment.events")),
    ),
    ("events_have_rows", "forged", append("records", record("e-9", SOLD))),
    ("events_have_rows", "no envelope", append("records", record(None, SOLD))),
    ("keys_in_place", "no key", append("records", record("e-1", None))),
    ("keys_in_place", "other key", append("records", record("e-1", REFUNDED))),
    (
        "keys_in_place",
        "other partition",
        append("records", record("e-1", SOLD, partition=5 - partition_of(SOLD.encode(), 6))),
    ),
    ("one_mail_each", "twice", append("messages", Message(SOLD, "confirmed", "sent"))),
    ("one_mail_each", "none", shift("messages")),
    (
        "one_mail_each",
        "still to be sent",
        lambda s: replace(s, messages=[Message(SOLD, "confirmed", "pending"), *s.messages[1:]]),
    ),
    ("mails_arrived_once", "twice", append("mails", Mail(SOLD, "m-1"))),
    ("mails_arrived_once", "never", shift("mails")),
    ("mails_arrived_once", "unasked", append("mails", Mail("ghost", "m-3"))),
    ("read_model_agrees", "missing", drop("views", SOLD)),
    ("read_model_agrees", "older", put("views", SOLD, Copy("pending", None, "EUR", 1000, 1000, 0))),
    ("read_model_agrees", "unknown", put("views", "ghost", Copy("pending", None, "EUR", 1, 0, 0))),
    ("analytics_agrees", "missing", drop("figures", SOLD)),
    (
        "analytics_agrees",
        "money",
        put("figures", SOLD, Copy("confirmed", None, "EUR", 1000, 2000, 0)),
    ),
    (
        "nothing_dead",
        "dead",
        append("letters", Letter("email", "dead", "OrderConfirmed", SOLD, "rule_failed")),
    ),
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_a_sound_system_passes(check: Any) -> None:
    found = check.look(sound())
    assert found.ok, found.problems


@pytest.mark.parametrize(
    ("name", "what", "plant"), PLANTED, ids=[f"{n}: {w}" for n, w, _ in PLANTED]
)
def test_a_planted_violation_is_found(name: str, what: str, plant: Plant) -> None:
    look = {check.name: check.look for check in CHECKS}[name]
    assert not look(plant(sound())).ok


def test_every_check_has_a_planted_violation() -> None:
    assert {name for name, _, _ in PLANTED} == {check.name for check in CHECKS}


def test_an_event_older_than_the_kept_rows_needs_no_row() -> None:
    old = record("e-0", SOLD, created_at=NOW - timedelta(days=8))
    look = {check.name: check.look for check in CHECKS}["events_have_rows"]
    assert look(append("records", old)(sound())).ok


def test_tenants_have_stock_of_their_own() -> None:
    theirs = replace(
        sound(),
        orders={**sound().orders, "theirs": order("theirs", "confirmed")},
        reservations={**sound().reservations, "theirs": Reservation("reserved", {ACME: 4})},
        stock={**sound().stock, ACME: Stock(imported=6, available=2, held=4)},
    )
    assert stock_adds_up(theirs).ok
    (problem, _) = stock_adds_up(put("stock", ACME, Stock(5, 2, 3))(theirs)).problems
    assert problem == "MUG of acme: 5 imported, but 2 available + 4 held by orders"
