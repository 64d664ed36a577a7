"""Cases from the field: kill -9 at the worst moment, and nothing is lost or done twice."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.live_stack import LiveStack
from tests.saga.support.faults import Faults
from tests.saga.support.saga import Saga
from tests.saga.support.wait import eventually, until

SERVICES = ("order", "inventory", "payment", "email", "analytics", "projector-agent")


@pytest.mark.parametrize(
    "kills", [10, pytest.param(100, marks=[pytest.mark.long, pytest.mark.timeout(1200)])]
)
def test_c42_crash_between_commit_and_publish(
    saga: Saga, stack: LiveStack, faults: Faults, kills: int
) -> None:
    sku = saga.goods("MUG", kills)
    body = saga.body({sku: 1})
    for kill in range(kills):
        if kill == kills // 3:
            stack.stop("connect")
        if kill == 2 * kills // 3:
            stack.start("connect")
        answer = saga.post(body)
        stack.kill("order")
        assert answer.status_code == 202

    def every_order_is_told_of() -> None:
        told = {
            order_id: saga.topics.types(order_id).count("OrderPlaced") for order_id in saga.orders
        }
        assert set(told.values()) == {1}, told

    eventually(every_order_is_told_of)
    assert len(saga.orders) == kills
    assert saga.db.count("order", "orders", customer_id=body["customer_id"]) == kills
    for order_id in saga.orders:
        assert saga.ended(order_id) == "confirmed"
    assert saga.stock(sku) == (0, kills)
    saga.verify()


@pytest.mark.parametrize(
    ("orders", "rounds"),
    [(20, 1), pytest.param(200, 5, marks=[pytest.mark.long, pytest.mark.timeout(1200)])],
)
def test_c32_services_are_killed_while_orders_flow(
    saga: Saga, stack: LiveStack, faults: Faults, orders: int, rounds: int
) -> None:
    sku = saga.goods("MUG", 2 * orders)
    bodies = [
        saga.body({sku: 2}, token, customer_id=saga.customer())
        for token in ("tok_ok", "tok_declined", "tok_slow_300", "tok_flaky_2")
    ]
    chance = random.Random(orders)
    victims = list(SERVICES) * rounds
    chance.shuffle(victims)

    def place(number: int) -> None:
        body = bodies[number % len(bodies)]
        accepted = saga.post(body, {"Idempotency-Key": f"{sku}-{number}"})
        assert accepted.status_code == 202, accepted.text

    with ThreadPoolExecutor(4) as clients:
        placing = clients.map(place, range(orders))
        for victim in victims:
            stack.kill(victim)
            faults.wait_started(victim)
        list(placing)
    stack.wait_ready()

    assert len(saga.orders) == orders
    endings = [saga.ended(order_id, 90) for order_id in saga.orders]
    assert endings.count("cancelled:payment_declined") == orders // 4
    assert endings.count("confirmed") == orders - orders // 4
    saga.verify(seconds=90)


def test_c64_mail_server_took_the_mail_and_email_died(
    saga: Saga, stack: LiveStack, faults: Faults
) -> None:
    order_id = saga.place(customer_id=saga.customer(mailbox="slow-3000."))
    until(lambda: saga.mails(order_id), "the mail to arrive", 60)
    query = "SELECT status, attempts, locked_until, finished_at FROM jobs WHERE key = :key"
    held = saga.db.row("email", query, key=order_id)
    stack.kill("email")
    assert held is not None and (held["status"], held["attempts"]) == ("running", 1)
    stack.wait_ready("email")
    confirmed = saga.topics.one(order_id, "OrderConfirmed")
    saga.topics.wait_read(saga.again(confirmed, new_id=False), "email")
    saga.topics.wait_read(saga.again(confirmed, new_id=True), "email")

    saga.wait_for(order_id, "EmailSent")
    mails = saga.mails(order_id)
    assert len(mails) == 2
    assert len({mail["message_id"] for mail in mails}) == 1
    done = saga.db.row("email", query, key=order_id)
    assert done is not None and (done["status"], done["attempts"]) == ("succeeded", 2)
    # The dead worker's job was free at once, not when its lease ended.
    assert done["finished_at"] < held["locked_until"]
    query = "SELECT kind, status FROM messages WHERE key = :key"
    assert saga.db.rows("email", query, key=order_id) == [{"kind": "confirmed", "status": "sent"}]
    assert saga.topics.types(order_id).count("EmailSent") == 1
