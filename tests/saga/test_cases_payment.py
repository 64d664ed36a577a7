"""Cases from the field: money that is taken too late, twice, or not given back."""

from typing import Any

from tests.saga.support.faults import Faults
from tests.saga.support.saga import Saga
from tests.saga.support.wait import until

REFUND = "refund:{}"


def test_c09_payment_captured_after_cancel(saga: Saga) -> None:
    sku = saga.goods("MUG", 5)
    order_id = saga.place({sku: 2}, token="tok_slow_1500")
    saga.charging(order_id)
    saga.cancelled(order_id)
    saga.wait_for(order_id, "PaymentCaptured", "PaymentRefunded", "StockReleased", "EmailSent")

    assert saga.ended(order_id) == "cancelled:customer_request"
    refunded = saga.topics.one(order_id, "PaymentRefunded")
    assert refunded.data["amount"] == 2500
    payment = saga.shop.payment.call("GET", f"/payments/{order_id}")
    assert (payment["status"], payment["captured"], payment["refunded"]) == ("refunded", 2500, 2500)
    assert saga.ledger(order_id) == {"capture": [2500], "refund": [2500]}
    assert saga.topics.one(order_id, "StockReleased").data["lines"] == [{"sku": sku, "quantity": 2}]
    assert saga.stock(sku) == (5, 0)
    saga.verify()


def test_c10_late_capture_revives_nothing(saga: Saga) -> None:
    sku = saga.goods("MUG", 5)
    order_id = saga.place({sku: 1}, token="tok_slow_1000")
    saga.charging(order_id)
    saga.cancelled(order_id)
    saga.wait_for(order_id, "PaymentRefunded", "StockReleased", "EmailSent")
    saga.verify()
    before = _everything(saga, order_id, sku)

    captured = saga.topics.one(order_id, "PaymentCaptured")
    readers = ("order", "analytics", "projector")
    saga.topics.wait_read(saga.again(captured, new_id=False), *readers)
    saga.topics.wait_read(saga.again(captured, new_id=True), *readers)

    assert _everything(saga, order_id, sku) == before
    saga.verify()


def test_c12_deadline_passes_while_payment_is_away(saga: Saga, faults: Faults) -> None:
    sku = saga.goods("MUG", 5)
    with faults.stopped("payment"):
        order_id = saga.place({sku: 1}, pay_within=1)
        assert saga.ended(order_id) == "cancelled:payment_timeout"
        saga.wait_for(order_id, "StockReleased")
        assert saga.stock(sku) == (5, 0)

    saga.verify()
    assert saga.order(order_id)["status"] == "cancelled"
    assert "OrderConfirmed" not in saga.topics.types(order_id)
    money = saga.ledger(order_id)
    assert money["capture"] == money["refund"]


def test_c13_order_waits_for_a_participant_that_is_away(saga: Saga, faults: Faults) -> None:
    with faults.stopped("inventory"):
        order_id = saga.place({saga.unheard_of(): 1})
        waiting = saga.order(order_id)
        assert (waiting["status"], waiting["waiting_for"]["step"]) == ("pending", "stock")

    assert saga.ended(order_id) == "cancelled:out_of_stock"
    saga.verify()


def test_c14_refund_is_tried_again(saga: Saga, faults: Faults) -> None:
    with faults.held_back("payment"):
        order_id = saga.place(token="tok_ok.refund_flaky_3")
        saga.captured(order_id)
        saga.cancelled(order_id)

    saga.wait_for(order_id, "PaymentRefunded", "StockReleased")
    asked = saga.shop.provider.call("GET", "/requests", params={"key": REFUND.format(order_id)})
    posts = [one["answer"] for one in asked["requests"] if one["method"] == "POST"]
    assert posts == [503, 503, 503, 201]
    assert saga.ledger(order_id) == {"capture": [1250], "refund": [1250]}
    saga.verify()


def test_c14_refund_that_fails_for_good_needs_attention(saga: Saga, faults: Faults) -> None:
    with faults.held_back("payment"):
        order_id = saga.place(token="tok_ok.refund_fails")
        saga.captured(order_id)
        saga.cancelled(order_id)

    until(lambda: saga.order(order_id)["status"] == "needs_attention", "needs_attention")
    assert saga.ledger(order_id) == {"capture": [1250], "refund": []}
    saga.wait_for(order_id, "RefundFailed", "OrderNeedsAttention")
    saga.verify()


def test_c15_provider_answers_too_late(saga: Saga) -> None:
    order_id = saga.place(token="tok_timeout_then_ok")
    assert saga.ended(order_id) == "confirmed"
    reserved = saga.topics.one(order_id, "StockReserved")
    saga.topics.wait_read(saga.again(reserved, new_id=True), "payment")

    asked = saga.requests(order_id)
    assert [one["method"] for one in asked].count("POST") == 1
    assert asked[-1]["method"] == "GET"
    assert saga.ledger(order_id) == {"capture": [1250], "refund": []}
    saga.verify()


def _everything(saga: Saga, order_id: str, sku: str) -> dict[str, Any]:
    """All that a late event could change; the timeline alone may grow."""
    return {
        "order": saga.db.row("order", "SELECT * FROM orders WHERE order_id = :key", key=order_id),
        "payment": saga.db.row("payment", "SELECT * FROM payments WHERE key = :key", key=order_id),
        "money": saga.ledger(order_id),
        "stock": saga.stock(sku),
        "mails": saga.mails(order_id),
        "written": [
            saga.db.outbox(service, order_id)
            for service in ("order", "inventory", "payment", "email")
        ],
    }
