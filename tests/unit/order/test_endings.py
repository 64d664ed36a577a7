"""An order's time to its first ending is observed once, under the ending's name."""

from dataclasses import replace
from datetime import timedelta

from prometheus_client import REGISTRY

from services.order.domain import Order
from services.order.endings import measure
from tests.unit.order.test_domain import after


def observed(ending: str) -> tuple[float, float]:
    labels = {"ending": ending}
    count = REGISTRY.get_sample_value("saga_order_seconds_count", labels) or 0
    return count, REGISTRY.get_sample_value("saga_order_seconds_sum", labels) or 0


def order_after(*types: str) -> Order:
    order, _ = after(*types)
    assert order is not None
    return order


def test_the_first_ending_is_observed_and_nothing_else() -> None:
    pending = order_after("PlaceOrder")
    cancelled = order_after("PlaceOrder", "StockRejected")
    assert cancelled.ended_at is not None
    cancelled = replace(cancelled, ended_at=pending.placed_at + timedelta(seconds=3))
    before = observed("cancelled:out_of_stock")

    measure(None, pending)
    measure(pending, None)
    measure(pending, order_after("PlaceOrder", "StockReserved"))
    measure(cancelled, replace(cancelled, stock="released"))
    assert observed("cancelled:out_of_stock") == before

    measure(pending, cancelled)
    assert observed("cancelled:out_of_stock") == (before[0] + 1, before[1] + 3)


def test_a_reason_in_somebody_elses_words_is_no_label() -> None:
    pending = order_after("PlaceOrder", "StockReserved")
    attention = order_after("PlaceOrder", "StockReserved", "RefundFailed")
    assert attention.reason
    before = observed("needs_attention")
    measure(pending, attention)
    assert observed("needs_attention")[0] == before[0] + 1
