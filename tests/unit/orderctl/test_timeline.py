from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

from services.orderctl.timeline import Entry, branches, golden

T0 = datetime(2026, 1, 31, 9, 15, tzinfo=UTC)
SALE = {"total": 4200, "currency": "EUR"}


def one(
    message_id: str, event_type: str, service: str, sequence: int, cause: str | None, **data: Any
) -> Entry:
    time = T0 + timedelta(milliseconds=10 * int(message_id))
    return Entry(message_id, event_type, f"/services/{service}", sequence, time, cause, data)


SAGA = [
    one("1", "OrderPlaced", "order", 1, "request", **SALE, lines=[{"sku": "MUG", "quantity": 2}]),
    one("2", "StockReserved", "inventory", 1, "1", amount=4200, currency="EUR"),
    one("3", "OrderCancelled", "order", 2, "other-request", **SALE, reason="customer_request"),
    one("4", "PaymentCaptured", "payment", 1, "2", amount=4200, currency="EUR"),
    one("5", "StockReleased", "inventory", 2, "3", lines=[{"sku": "MUG", "quantity": 2}]),
    one("6", "EmailSent", "email", 1, "3", kind="order_cancelled"),
    one("7", "PaymentRefunded", "payment", 2, "4", amount=4200, currency="EUR"),
]

GOLDEN = """\
OrderPlaced               order      4200 EUR
└─ StockReserved          inventory  4200 EUR
   └─ PaymentCaptured     payment    4200 EUR
      └─ PaymentRefunded  payment    4200 EUR
OrderCancelled            order      4200 EUR, customer_request
├─ EmailSent              email      order_cancelled
└─ StockReleased          inventory  MUG x2
"""


def test_the_golden_text_is_the_tree_of_causes() -> None:
    assert golden(SAGA) == GOLDEN


def test_the_golden_text_does_not_depend_on_the_order_of_arrival() -> None:
    assert {golden(arrival) for arrival in permutations(SAGA)} == {GOLDEN}


def test_a_repeated_entry_is_shown_once() -> None:
    assert golden([*SAGA, SAGA[3]]) == GOLDEN


def test_what_was_short_is_named() -> None:
    short = [{"sku": "UNICORN", "wanted": 1, "available": 0}]
    assert "short UNICORN 0/1" in golden(
        [one("1", "StockRejected", "inventory", 1, None, short=short)]
    )


def test_no_entries_give_an_empty_text() -> None:
    assert golden([]) == ""
    assert branches([]) == []
