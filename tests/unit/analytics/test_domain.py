from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest

from services.analytics.domain import READERS, OrderFigures, merged, read
from services.analytics.handlers import HANDLERS

T0 = datetime(2026, 1, 31, 9, 15, tzinfo=UTC)
SALE = {"customer_id": "c-1", "total": 4200, "currency": "EUR"}
PAID = {"payment_id": "p-1", "amount": 4200, "currency": "EUR"}

Step = tuple[str, int, dict[str, Any], int]
"""event type, sequence of its aggregate, data, second at which it happened"""

CONFIRMED: list[Step] = [
    ("OrderPlaced", 1, SALE, 0),
    ("StockReserved", 1, {"amount": 4200, "currency": "EUR"}, 1),
    ("PaymentCaptured", 1, PAID, 2),
    ("OrderConfirmed", 2, SALE, 3),
    ("EmailSent", 1, {"kind": "confirmed"}, 4),
]
REFUNDED_AT_LAST: list[Step] = [
    ("OrderPlaced", 1, SALE, 0),
    ("OrderCancelled", 2, {**SALE, "reason": "customer_request"}, 2),
    ("PaymentCaptured", 1, PAID, 3),
    ("RefundFailed", 2, {**PAID, "reason": "refused"}, 4),
    ("OrderNeedsAttention", 3, {"reason": "refund_failed"}, 5),
    ("PaymentRefunded", 3, PAID, 6),
    ("OrderCancelled", 4, {**SALE, "reason": "customer_request"}, 7),
]
RELEASED: list[Step] = [
    ("StockReserved", 1, {"amount": 4200, "currency": "EUR"}, 1),
    ("StockReleased", 2, {"lines": []}, 2),
    ("PaymentDeclined", 1, {**PAID, "reason": "refused"}, 2),
    ("OrderCancelled", 2, {**SALE, "reason": "payment_declined"}, 3),
    ("EmailSent", 1, {"kind": "cancelled"}, 4),
    ("EmailFailed", 2, {"kind": "other", "reason": "unknown_contact"}, 5),
]


def after(steps: tuple[Step, ...] | list[Step]) -> OrderFigures:
    row: OrderFigures | None = None
    for event_type, sequence, data, second in steps:
        reading = READERS[event_type](data, T0 + timedelta(seconds=second))
        row = read(row, "o-1", "demo", sequence, reading).state or row
    assert row is not None
    return row


@pytest.mark.parametrize("saga", [CONFIRMED, REFUNDED_AT_LAST, RELEASED])
def test_every_order_of_arrival_gives_the_same_row(saga: list[Step]) -> None:
    expected = after(saga)
    for arrival in permutations(saga):
        assert after(arrival) == expected


@pytest.mark.parametrize("saga", [CONFIRMED, REFUNDED_AT_LAST, RELEASED])
def test_rows_read_in_parts_are_merged_into_the_whole_row(saga: list[Step]) -> None:
    expected = after(saga)
    for arrival in list(permutations(saga))[::7]:
        for middle in range(1, len(arrival)):
            assert merged(after(arrival[:middle]), after(arrival[middle:])) == expected


@pytest.mark.parametrize("saga", [CONFIRMED, REFUNDED_AT_LAST, RELEASED])
def test_a_repeat_changes_nothing_and_says_so(saga: list[Step]) -> None:
    row = after(saga)
    for event_type, sequence, data, second in saga:
        reading = READERS[event_type](data, T0 + timedelta(seconds=second))
        decision = read(row, "o-1", "demo", sequence, reading)
        assert (decision.state, decision.outcome) == (None, "ignored:nothing_new")


def test_a_confirmed_order_carries_what_each_service_said() -> None:
    row = after(CONFIRMED)
    assert (row.status, row.reservation, row.payment) == ("confirmed", "reserved", "captured")
    assert (row.total, row.captured, row.refunded) == (4200, 4200, None)
    assert row.mails == ("confirmed",)
    assert (row.placed_at, row.ended_at) == (T0, T0 + timedelta(seconds=3))


def test_an_order_that_needed_attention_is_cancelled_again_after_its_refund() -> None:
    row = after(REFUNDED_AT_LAST)
    assert (row.status, row.reason, row.payment) == ("cancelled", "customer_request", "refunded")
    assert (row.captured, row.refunded) == (4200, 4200)
    assert row.ended_at == T0 + timedelta(seconds=2)


def test_an_older_event_fills_gaps_and_overwrites_nothing() -> None:
    row = after([CONFIRMED[3], CONFIRMED[0]])
    assert (row.status, row.order_sequence, row.placed_at) == ("confirmed", 2, T0)


def test_the_handler_table_reads_every_event_there_is_a_reader_for() -> None:
    events = [line for line in HANDLERS.values() if line.source not in ("api", "job")]
    assert {line.type for line in events} == set(READERS)
    assert all(not line.emits for line in events)
