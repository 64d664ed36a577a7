"""Cases from the field: stock that is sold twice, held in part, or given back twice."""

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import psycopg
import pytest

from services.orderctl.waiting import ending_of
from tests.live_stack import LiveStack
from tests.saga.support.saga import Saga
from tests.saga.support.wait import eventually, until


def test_c01_last_unit_sold_once(saga: Saga) -> None:
    sku = saga.goods("LAST", 1)
    body = saga.body({sku: 1})
    with ThreadPoolExecutor(20) as clients:
        keys = [{"Idempotency-Key": str(uuid4())} for _ in range(20)]
        answers = list(clients.map(lambda headers: saga.post(body, headers), keys))
    assert [answer.status_code for answer in answers] == [202] * 20
    lowest = 1

    def all_ended() -> bool:
        nonlocal lowest
        lowest = min(lowest, *saga.stock(sku))
        return all(ending_of(saga.order(order_id)) for order_id in saga.orders)

    until(all_ended, "20 endings")

    endings = {order_id: saga.ended(order_id) for order_id in saga.orders}
    assert sorted(endings.values()) == ["cancelled:out_of_stock"] * 19 + ["confirmed"]
    assert lowest >= 0
    assert saga.stock(sku) == (0, 1)
    captures = [saga.ledger(order_id)["capture"] for order_id in saga.orders]
    assert sorted(captures) == [[]] * 19 + [[1250]]
    for order_id, ending in endings.items():
        saga.wait_for(order_id, "OrderConfirmed" if ending == "confirmed" else "OrderCancelled")
    confirmations = [
        saga.topics.types(order_id).count("OrderConfirmed") for order_id in saga.orders
    ]
    assert sum(confirmations) == 1
    saga.verify()


def test_c01_the_database_refuses_stock_below_zero(saga: Saga, stack: LiveStack) -> None:
    sku = saga.goods("LAST", 1)
    with stack.admin("inventory_db") as admin, pytest.raises(psycopg.errors.CheckViolation):
        admin.execute(
            "UPDATE stock SET available = available - 2, held = held + 2 WHERE sku = %s", [sku]
        )


@pytest.mark.parametrize("short_line", [1, 2], ids=["last of two", "middle of three"])
def test_c03_one_line_of_several_is_out_of_stock(saga: Saga, short_line: int) -> None:
    lines = {saga.goods(name, 5): 1 for name in ("TEA", "MUG")[:short_line]}
    short = saga.unheard_of()
    names = list(lines)
    wanted = {names[0]: 1, short: 1, **dict.fromkeys(names[1:], 1)}
    order_id = saga.place(wanted)

    assert saga.ended(order_id) == "cancelled:out_of_stock"
    assert all(saga.stock(sku) == (5, 0) for sku in lines)
    reservation = saga.shop.inventory.call("GET", f"/reservations/{order_id}")
    assert (reservation["status"], reservation["lines"]) == ("rejected", [])
    assert saga.db.count("inventory", "reservation_lines", key=order_id) == 0
    rejected = saga.topics.one(order_id, "StockRejected")
    assert rejected.data["short"] == [{"sku": short, "wanted": 1, "available": 0}]
    assert saga.requests(order_id) == []
    saga.verify()


def test_c06_compensation_arrives_before_the_action(saga: Saga) -> None:
    sku = saga.goods("MUG", 5)
    order_id = str(uuid4())
    total = {"customer_id": "nobody", "total": 2500, "currency": "EUR"}
    cancel = saga.produce("OrderCancelled", order_id, {**total, "reason": "customer_request"}, 2)
    readers = ("inventory", "payment", "projector")
    saga.topics.wait_read(cancel, *readers)
    assert saga.stock(sku) == (5, 0)

    placed = {
        **total,
        "payment_token": "tok_ok",
        "pay_by": saga.in_an_hour(),
        "lines": [{"sku": sku, "quantity": 2, "unit_price": 1250}],
    }
    saga.topics.wait_read(saga.produce("OrderPlaced", order_id, placed), *readers)

    assert saga.stock(sku) == (5, 0)
    reservation = saga.shop.inventory.call("GET", f"/reservations/{order_id}")
    assert (reservation["status"], reservation["lines"]) == ("cancelled", [])
    assert saga.shop.payment.call("GET", f"/payments/{order_id}")["status"] == "cancelled"
    assert saga.requests(order_id) == []
    view = saga.view(order_id)
    assert (view["status"], view["reason"]) == ("cancelled", "customer_request")
    assert view["lines"] == placed["lines"]
    assert {"StockReserved", "StockReleased"}.isdisjoint(saga.topics.types(order_id))


def test_c07_stock_is_given_back_once(saga: Saga) -> None:
    sku = saga.goods("MUG", 5)
    order_id = saga.place({sku: 2}, token="tok_declined")
    assert saga.ended(order_id) == "cancelled:payment_declined"
    saga.wait_for(order_id, "StockReleased", "EmailSent")

    assert saga.shop.cancel(order_id).status_code == 409
    cancelled = saga.topics.one(order_id, "OrderCancelled")
    saga.topics.wait_read(saga.again(cancelled, new_id=False), "inventory", "email")
    saga.topics.wait_read(saga.again(cancelled, new_id=True), "inventory", "email")

    assert saga.stock(sku) == (5, 0)
    released = saga.topics.one(order_id, "StockReleased")
    assert released.data["lines"] == [{"sku": sku, "quantity": 2}]
    saga.verify()


def test_c08_compensation_leaves(saga: Saga) -> None:
    sku = saga.goods("MUG", 5)
    declined = saga.place({sku: 1}, token="tok_declined")
    asked = saga.place({sku: 1}, token="tok_flaky_9")
    saga.charging(asked)
    saga.cancelled(asked)

    for order_id in (declined, asked):
        saga.wait_for(order_id, "OrderCancelled", "StockReleased", "EmailSent")
        assert len(saga.mails(order_id)) == 1
    assert saga.stock(sku) == (5, 0)

    def all_written_is_there() -> None:
        for order_id in (declined, asked):
            written = [
                row["message_id"]
                for service in ("order", "inventory", "payment", "email")
                for row in saga.db.outbox(service, order_id)
            ]
            arrived = [read.id for read in saga.topics.of(order_id)]
            assert sorted(arrived) == sorted(written)

    eventually(all_written_is_there)
    saga.verify()
