"""Analytics on a real database: rows survive any arrival, figures are queries over them."""

from itertools import permutations
from typing import Any
from uuid import uuid4

from fastapi.testclient import TestClient

from services.eventkit.decision import Event
from tests.events import event
from tests.integration.scratch import Scratch

SALE = {"customer_id": "customer-1", "total": 4200, "currency": "EUR"}
PAID = {"payment_id": "payment:1", "amount": 4200, "currency": "EUR"}


def saga(key: str) -> list[Event]:
    """Cancelled by the customer after the capture, refunded, mailed."""
    steps: list[tuple[str, int, dict[str, Any]]] = [
        ("OrderPlaced", 1, SALE),
        ("OrderCancelled", 2, SALE | {"reason": "customer_request"}),
        ("PaymentCaptured", 1, PAID),
        ("PaymentRefunded", 2, PAID),
        ("EmailSent", 1, {"kind": "cancelled"}),
    ]
    return [event(kind, data, key=key, sequence=n) for kind, n, data in steps]


def rows_of(analytics: Scratch, key: str) -> list[tuple[Any, ...]]:
    query = """
        SELECT order_sequence, status, reason, customer_id, currency, total, placed_at, ended_at,
               payment_sequence, payment, captured, refunded, message_sequence, mails, version
        FROM order_figures WHERE key = :key"""
    return list(analytics.rows(query, key=key))


def test_one_batch_or_one_event_at_a_time_in_any_order_gives_the_same_row(
    analytics: Scratch,
) -> None:
    whole = str(uuid4())
    analytics.handle(*saga(whole))
    expected = rows_of(analytics, whole)
    assert len(expected) == 1
    for order in list(permutations(range(5)))[::7]:
        key = str(uuid4())
        events = saga(key)
        for index in order:
            analytics.handle(events[index])
        assert rows_of(analytics, key) == expected


def test_a_repeat_is_named_and_changes_nothing(analytics: Scratch) -> None:
    key = str(uuid4())
    analytics.handle(*saga(key))
    before = rows_of(analytics, key)
    assert analytics.handle(*saga(key)) == ["ignored:nothing_new"] * 5
    assert rows_of(analytics, key) == before
    assert analytics.emitted(key) == []


def test_the_figures_add_up(client: TestClient, analytics: Scratch) -> None:
    analytics.handle(*saga(str(uuid4())))
    sold, open_ = str(uuid4()), str(uuid4())
    analytics.handle(
        event("OrderConfirmed", SALE | {"currency": "JPY"}, key=sold, sequence=2),
        event("PaymentCaptured", PAID | {"currency": "JPY"}, key=sold),
        event("OrderPlaced", SALE, key=open_),
        event("StockReserved", {"amount": 1, "currency": "EUR"}, key=str(uuid4())),
    )
    assert client.get("/figures").json() == {
        "orders_by_status": {"cancelled": 1, "confirmed": 1, "pending": 1},
        "by_currency": {
            "EUR": {"confirmed_total": 0, "captured": 4200, "refunded": 4200},
            "JPY": {"confirmed_total": 4200, "captured": 4200, "refunded": 0},
        },
        "mails_sent": 1,
    }


def test_no_order_yet(client: TestClient) -> None:
    nothing = {"orders_by_status": {}, "by_currency": {}, "mails_sent": 0}
    assert client.get("/figures").json() == nothing


def test_one_order_can_be_read(client: TestClient, analytics: Scratch) -> None:
    key = str(uuid4())
    assert client.get(f"/orders/{key}").status_code == 404
    analytics.handle(*saga(key))
    found = client.get(f"/orders/{key}").json()
    assert (found["status"], found["reason"]) == ("cancelled", "customer_request")
    assert (found["payment"], found["refunded"], found["mails"]) == (
        "refunded",
        4200,
        ["cancelled"],
    )
    assert client.get("/orders/not-an-id").status_code == 422
