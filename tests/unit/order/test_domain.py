"""The rules of an order: every input in every state, and every arrival order."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest

from services.eventkit.decision import Decision, Facts
from services.order import domain
from services.order.domain import Order
from services.order.handlers import HANDLERS
from tests.events import KEY, NOW, event

TOTAL = 2500
AMOUNT = {"payment_id": f"payment:{KEY}", "amount": TOTAL, "currency": "EUR"}
DATA: Mapping[str, dict[str, Any]] = {
    "PlaceOrder": {
        "customer_id": "customer-1",
        "currency": "EUR",
        "payment_token": "tok_ok",
        "pay_by": NOW + timedelta(minutes=15),
        "trace_id": None,
        "lines": [{"sku": "SKU-TEA", "quantity": 2, "unit_price": 1250}],
    },
    "CancelOrder": {},
    "StockReserved": {"amount": TOTAL, "currency": "EUR", "payment_token": "tok_ok"},
    "StockReleased": {"lines": [{"sku": "SKU-TEA", "quantity": 2}]},
    "StockRejected": {"short": [{"sku": "SKU-TEA", "wanted": 2, "available": 0}]},
    "PaymentCaptured": AMOUNT,
    "PaymentDeclined": AMOUNT | {"reason": "card_declined"},
    "PaymentRefunded": AMOUNT,
    "RefundFailed": AMOUNT | {"reason": "account_closed"},
    "payment_deadline.succeeded": {},
}
ENDINGS = {
    "StockRejected": domain.OUT_OF_STOCK,
    "PaymentDeclined": domain.PAYMENT_DECLINED,
    "CancelOrder": domain.CUSTOMER_REQUEST,
    "payment_deadline.succeeded": domain.PAYMENT_TIMEOUT,
}


def apply(order: Order | None, type_: str) -> Decision[Order]:
    """Runs the rule of one input."""
    return HANDLERS[type_].rule(order, event(type_, DATA[type_]), Facts(NOW))


def after(*types: str) -> tuple[Order | None, list[str]]:
    """The order after these inputs, and the events they led to."""
    order, emitted = None, []
    for type_ in types:
        decision = apply(order, type_)
        order = decision.state or order
        emitted += [emit.type for emit in decision.emits]
    return order, emitted


def placed() -> Order:
    """A pending order."""
    order, _ = after("PlaceOrder")
    assert order is not None
    return order


def test_placing_stores_the_order_its_event_and_its_deadline() -> None:
    decision = apply(None, "PlaceOrder")
    assert decision.state is not None
    assert (decision.state.status, decision.state.total) == ("pending", TOTAL)
    assert decision.state.waiting_for == "stock"
    assert [emit.type for emit in decision.emits] == ["OrderPlaced"]
    assert decision.emits[0].data["total"] == TOTAL
    assert [(job.kind, job.run_at) for job in decision.jobs] == [
        ("payment_deadline", NOW + timedelta(minutes=15))
    ]


def test_the_step_that_an_order_waits_for_follows_the_saga() -> None:
    order, _ = after("PlaceOrder", "StockReserved")
    assert order is not None
    assert order.waiting_for == "payment"
    order, _ = after("PlaceOrder", "StockReserved", "PaymentCaptured")
    assert order is not None
    assert order.waiting_for is None


@pytest.mark.parametrize(("input_", "reason"), ENDINGS.items())
def test_a_pending_order_is_cancelled_for_a_reason(input_: str, reason: str) -> None:
    decision = apply(placed(), input_)
    assert decision.state is not None
    assert (decision.state.status, decision.state.reason) == ("cancelled", reason)
    assert decision.state.ended_at == NOW
    assert [emit.data["reason"] for emit in decision.emits] == [reason]
    assert decision.cancel_jobs == ("payment_deadline",)


def test_a_captured_payment_confirms() -> None:
    decision = apply(placed(), "PaymentCaptured")
    assert decision.state is not None
    assert decision.state.status == "confirmed"
    assert [emit.type for emit in decision.emits] == ["OrderConfirmed"]


def test_another_amount_than_the_total_confirms_nothing() -> None:
    wrong = event("PaymentCaptured", AMOUNT | {"amount": TOTAL - 1})
    with pytest.raises(ValueError, match="2499"):
        HANDLERS["PaymentCaptured"].rule(placed(), wrong, Facts(NOW))


@pytest.mark.parametrize("type_", sorted(DATA.keys() - {"PlaceOrder"}))
def test_an_order_that_was_never_placed_is_named_and_changes_nothing(type_: str) -> None:
    decision = apply(None, type_)
    assert decision.outcome == "ignored:unknown_order"
    assert not decision.emits


@pytest.mark.parametrize("type_", sorted(DATA))
@pytest.mark.parametrize("ending", [*ENDINGS, "PaymentCaptured"])
def test_after_an_ending_only_a_failed_refund_and_its_repair_move_the_order(
    ending: str, type_: str
) -> None:
    order, _ = after("PlaceOrder", ending)
    assert order is not None
    decision = apply(order, type_)
    status = (decision.state or order).status
    if type_ == "RefundFailed" and order.status == "cancelled":
        assert status == "needs_attention"
    else:
        assert status == order.status
        assert not decision.emits


@pytest.mark.parametrize("type_", sorted(DATA))
def test_a_repeat_says_nothing_twice(type_: str) -> None:
    order, emitted = after("PlaceOrder", type_, type_)
    _, once = after("PlaceOrder", type_)
    assert order is not None
    assert emitted == once


def test_c09_payment_captured_after_cancel_is_named_refund_due() -> None:
    order, _ = after("PlaceOrder", "StockReserved", "CancelOrder")
    decision = apply(order, "PaymentCaptured")
    assert decision.outcome == "refund_due"
    assert decision.state is not None
    assert (decision.state.status, decision.state.payment) == ("cancelled", "captured")
    assert not decision.emits


def test_c10_a_late_capture_does_not_revive_a_refunded_order() -> None:
    order, _ = after("PlaceOrder", "CancelOrder", "PaymentCaptured", "PaymentRefunded")
    decision = apply(order, "PaymentCaptured")
    assert decision.outcome == "ignored:already_cancelled"
    assert decision.state is None


def test_a_capture_that_overtakes_the_decline_before_it_confirms_nothing() -> None:
    captured = event("PaymentCaptured", DATA["PaymentCaptured"], sequence=2)
    decision = HANDLERS[captured.type].rule(placed(), captured, Facts(NOW))
    assert decision.state is not None
    assert (decision.state.status, decision.state.reason) == ("cancelled", "payment_declined")
    assert [emit.type for emit in decision.emits] == ["OrderCancelled"]
    assert apply(decision.state, "PaymentDeclined").outcome == "ignored:already_cancelled"


@pytest.mark.parametrize(
    ("heard", "status", "emits"),
    [
        ("PaymentRefunded", "cancelled", ["OrderCancelled"]),
        ("RefundFailed", "needs_attention", ["OrderCancelled", "OrderNeedsAttention"]),
    ],
)
def test_a_refund_that_overtakes_the_decline_and_the_capture_ends_the_order_as_declined(
    heard: str, status: str, emits: list[str]
) -> None:
    decision = apply(placed(), heard)
    order = decision.state
    assert order is not None
    assert (order.status, order.reason) == (status, "payment_declined")
    assert order.ended_at == NOW
    assert [emit.type for emit in decision.emits] == emits
    assert decision.cancel_jobs == ("payment_deadline",)
    captured = event("PaymentCaptured", DATA["PaymentCaptured"], sequence=2)
    for late in (captured, event("PaymentDeclined", DATA["PaymentDeclined"])):
        assert (
            HANDLERS[late.type].rule(order, late, Facts(NOW)).outcome == f"ignored:already_{status}"
        )


def test_c14_a_failed_refund_needs_attention_until_the_money_is_back() -> None:
    order, emitted = after("PlaceOrder", "CancelOrder", "RefundFailed")
    assert order is not None
    assert (order.status, emitted[-1]) == ("needs_attention", "OrderNeedsAttention")
    order, emitted = after("PlaceOrder", "CancelOrder", "RefundFailed", "PaymentRefunded")
    assert order is not None
    assert (order.status, order.reason) == ("cancelled", "customer_request")
    assert emitted[-1] == "OrderCancelled"
    assert apply(order, "RefundFailed").outcome == "ignored:already_refunded"


@pytest.mark.parametrize("inputs", list(permutations(sorted(DATA.keys() - {"PlaceOrder"}), 3)))
def test_any_three_inputs_in_any_order_lead_to_one_ending(inputs: tuple[str, ...]) -> None:
    order, emitted = after("PlaceOrder", *inputs)
    assert order is not None
    assert emitted.count("OrderConfirmed") <= 1
    assert not {"OrderConfirmed", "OrderCancelled"} <= set(emitted)
    assert (order.status == "pending") == (order.ended_at is None)
    assert (order.reason is not None) == (order.status in {"cancelled", "needs_attention"})


def test_the_transition_table_knows_every_state_and_input() -> None:
    states = {"pending", "confirmed", "cancelled", "needs_attention"}
    assert {state for state, _ in domain.TRANSITIONS} | set(domain.TRANSITIONS.values()) == states
    assert {input_ for _, input_ in domain.TRANSITIONS} <= HANDLERS.keys()


def test_states_are_values() -> None:
    order = placed()
    assert replace(order) == order
