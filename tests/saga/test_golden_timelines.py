"""Every ending of an order has one timeline, whatever the order of arrival: the tree of causes.

Each test makes one ending happen and compares the tree with ``golden/<ending>.txt``.
"""

from tests.saga.support import golden
from tests.saga.support.faults import Faults
from tests.saga.support.saga import Saga

UNDECIDED = "tok_flaky_9"
"""The provider answers 503 for longer than a test takes: the charge stays undecided."""


def test_confirmed(saga: Saga) -> None:
    order_id = saga.place()

    assert saga.ended(order_id) == "confirmed"
    golden.matches(saga, order_id, "confirmed")
    saga.verify()


def test_out_of_stock(saga: Saga) -> None:
    mug, unicorn, tea = saga.goods("MUG", 5), saga.goods("UNICORN", 1), saga.goods("TEA", 5)
    order_id = saga.place({mug: 2, unicorn: 3, tea: 1})

    assert saga.ended(order_id) == "cancelled:out_of_stock"
    golden.matches(saga, order_id, "out_of_stock")
    saga.verify()


def test_payment_declined(saga: Saga) -> None:
    order_id = saga.place(token="tok_declined")

    assert saga.ended(order_id) == "cancelled:payment_declined"
    golden.matches(saga, order_id, "payment_declined")
    saga.verify()


def test_customer_request_before_capture(saga: Saga) -> None:
    order_id = saga.place(token=UNDECIDED)
    saga.charging(order_id)
    saga.cancelled(order_id)

    assert saga.ended(order_id) == "cancelled:customer_request"
    golden.matches(saga, order_id, "customer_request_before_capture")
    saga.verify()


def test_customer_request_after_capture(saga: Saga, faults: Faults) -> None:
    with faults.held_back("payment"):
        order_id = saga.place()
        saga.captured(order_id)
        saga.cancelled(order_id)

    assert saga.ended(order_id) == "cancelled:customer_request"
    golden.matches(saga, order_id, "customer_request_after_capture")
    saga.verify()


def test_payment_timeout(saga: Saga) -> None:
    order_id = saga.place(token=UNDECIDED, pay_within=1)

    assert saga.ended(order_id) == "cancelled:payment_timeout"
    golden.matches(saga, order_id, "payment_timeout")
    saga.verify()


def test_needs_attention(saga: Saga, faults: Faults) -> None:
    with faults.held_back("payment"):
        order_id = saga.place(token="tok_ok.refund_fails")
        saga.captured(order_id)
        saga.cancelled(order_id)

    saga.wait_for(order_id, "OrderNeedsAttention")
    golden.matches(saga, order_id, "needs_attention")
    assert saga.order(order_id)["status"] == "needs_attention"
    saga.verify()
