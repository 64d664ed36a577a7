"""Cases from the field: what the order API must refuse, and what it must answer twice."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from uuid import uuid4

import httpx
import psycopg
import pytest

from tests.live_stack import LiveStack
from tests.saga.support.faults import Faults
from tests.saga.support.saga import Saga
from tests.saga.support.wait import until

QUANTITIES = [0, -1, 1.5, "3", True, 2_147_483_648, 10**18]
NUMBERS = ["NaN", "Infinity", "-Infinity", "1e400", '"NaN"', '"sNaN"']


def _refused(saga: Saga, answer: httpx.Response, field: str, customer_id: str) -> None:
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    fields = [error["field"] for error in answer.json()["errors"]]
    assert any(name == field or name.startswith(f"{field}.") for name in fields), fields
    assert saga.db.count("order", "orders", customer_id=customer_id) == 0
    assert saga.db.count("order", "outbox", actor_id=customer_id) == 0


@pytest.mark.parametrize("quantity", QUANTITIES, ids=str)
def test_c20_quantity_is_a_whole_number_from_one_to_ten_thousand(
    saga: Saga, quantity: object
) -> None:
    body = saga.body({"MUG": 1}, customer_id=f"customer-{uuid4()}")
    body["lines"][0]["quantity"] = quantity
    _refused(saga, saga.post(body), "lines.0.quantity", body["customer_id"])


def test_c20_one_bad_line_refuses_the_order(saga: Saga) -> None:
    body = saga.body({"MUG": 5, "TEA": -4}, customer_id=f"customer-{uuid4()}")
    _refused(saga, saga.post(body), "lines.1.quantity", body["customer_id"])


@pytest.mark.parametrize("count", [0, 101, 10_000])
def test_c20_one_to_a_hundred_lines(saga: Saga, count: int) -> None:
    lines = {f"SKU-{number}": 1 for number in range(count)}
    body = saga.body(lines, customer_id=f"customer-{uuid4()}")
    _refused(saga, saga.post(body), "lines", body["customer_id"])


def test_c20_total_is_above_zero(saga: Saga) -> None:
    body = saga.body({"MUG": 1}, unit_price=0, customer_id=f"customer-{uuid4()}")
    _refused(saga, saga.post(body), "lines.0.unit_price", body["customer_id"])


@pytest.mark.parametrize("price", [816.5, 100.5, "8.165", "1.005", 10.0, 10**12], ids=str)
@pytest.mark.parametrize("currency", ["EUR", "JPY"])
def test_c21_price_is_a_whole_number_of_minor_units(
    saga: Saga, price: object, currency: str
) -> None:
    body = saga.body({"MUG": 1}, currency=currency, customer_id=f"customer-{uuid4()}")
    body["lines"][0]["unit_price"] = price
    _refused(saga, saga.post(body), "lines.0.unit_price", body["customer_id"])


def test_c21_one_order_has_one_known_currency(saga: Saga) -> None:
    mixed = saga.body({"MUG": 1, "TEA": 1}, customer_id=f"customer-{uuid4()}")
    mixed["lines"][1]["currency"] = "USD"
    _refused(saga, saga.post(mixed), "lines.1.currency", mixed["customer_id"])
    unknown = saga.body({"MUG": 1}, currency="XYZ", customer_id=f"customer-{uuid4()}")
    _refused(saga, saga.post(unknown), "currency", unknown["customer_id"])


@pytest.mark.parametrize("currency", ["EUR", "JPY"])
def test_c21_every_amount_is_the_sum_of_the_lines(saga: Saga, currency: str) -> None:
    prices = {
        saga.goods("TEN", 100): (10, 10),
        saga.goods("A", 9): (1, 10),
        saga.goods("B", 9): (1, 20),
    }
    body = saga.body({sku: quantity for sku, (quantity, _) in prices.items()}, "tok_slow_1000")
    body["currency"] = currency
    for line in body["lines"]:
        line["unit_price"] = prices[line["sku"]][1]
    order_id = saga.post(body).json()["order_id"]
    saga.charging(order_id)
    saga.cancelled(order_id)
    saga.wait_for(order_id, "PaymentCaptured", "PaymentRefunded")

    placed = saga.topics.one(order_id, "OrderPlaced").data
    assert sum(line["quantity"] * line["unit_price"] for line in placed["lines"]) == 130
    amounts = {
        "order": saga.order(order_id)["total"],
        "OrderPlaced": placed["total"],
        **{
            name: saga.topics.one(order_id, name).data["amount"]
            for name in ("StockReserved", "PaymentCaptured", "PaymentRefunded")
        },
        **{kind: sum(amounts) for kind, amounts in saga.ledger(order_id).items()},
    }
    assert set(amounts.values()) == {130}, amounts
    charge = saga.shop.provider.call("GET", f"/charges/payment:{order_id}")
    assert (charge["amount"], charge["currency"]) == (130, currency)
    saga.verify()


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("name", ["quantity", "unit_price"])
def test_c22_nan_and_infinity_are_refused(saga: Saga, name: str, number: str) -> None:
    body = saga.body({"MUG": 1}, customer_id=f"customer-{uuid4()}")
    body["lines"][0][name] = "PUT HERE"
    raw = json.dumps(body).replace('"PUT HERE"', number)
    answer = saga.shop.orders.send(
        "POST", "/orders", content=raw, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"]
    assert saga.db.count("order", "orders", customer_id=body["customer_id"]) == 0


def test_c17_same_key_with_other_content(saga: Saga) -> None:
    key = {"Idempotency-Key": str(uuid4())}
    first, other = saga.body(), saga.body()
    with ThreadPoolExecutor(2) as clients:
        both = list(clients.map(lambda body: saga.post(body, key), [first, other]))
    assert sorted(answer.status_code for answer in both) == [202, 422]

    won = first if both[0].status_code == 202 else other
    lost = other if won is first else first
    assert saga.post(lost, key).status_code == 422
    shuffled = json.dumps(dict(reversed(won.items())), indent=3)
    again = saga.shop.orders.send(
        "POST", "/orders", content=shuffled, headers={**key, "Content-Type": "application/json"}
    )
    accepted = next(answer for answer in both if answer.status_code == 202)
    assert (again.status_code, again.json()) == (202, accepted.json())
    assert again.headers["Location"] == accepted.headers["Location"]
    customers = (first["customer_id"], other["customer_id"])
    assert sum(saga.db.count("order", "orders", customer_id=name) for name in customers) == 1


def test_c18_same_key_and_body_at_the_same_moment(saga: Saga) -> None:
    key, body = {"Idempotency-Key": str(uuid4())}, saga.body()
    send = partial(saga.shop.orders.send, "POST", "/orders", json=body, headers=key)
    with ThreadPoolExecutor(50) as clients:
        answers = list(clients.map(lambda _: send(), range(50)))

    accepted = [answer for answer in answers if answer.status_code == 202]
    assert len({answer.text for answer in accepted}) == 1
    for answer in answers:
        assert answer.status_code in (202, 409), answer.text
        assert answer.status_code == 202 or answer.headers["Retry-After"]
    (order_id,) = {answer.json()["order_id"] for answer in accepted}
    assert saga.ended(order_id) == "confirmed"
    assert saga.db.count("order", "orders", customer_id=body["customer_id"]) == 1
    assert saga.topics.types(order_id).count("OrderPlaced") == 1
    saga.verify([order_id])


def test_c18_key_is_not_stuck_after_a_crash(saga: Saga, stack: LiveStack, faults: Faults) -> None:
    key, body = {"Idempotency-Key": str(uuid4())}, saga.body()

    def send(_: int) -> None:
        with suppress(httpx.TransportError):
            httpx.post(f"{stack.url('order')}/orders", json=body, headers=key, timeout=10)

    with ThreadPoolExecutor(20) as clients:
        burst = [clients.submit(send, number) for number in range(40)]
        stack.kill("order")
        for sent in burst:
            sent.result()
    stack.wait_ready("order")

    answer = saga.post(body, key)
    assert answer.status_code == 202, answer.text
    assert saga.db.count("order", "orders", customer_id=body["customer_id"]) == 1
    assert saga.ended(answer.json()["order_id"]) == "confirmed"
    saga.verify()


@contextmanager
def first_in_flight(stack: LiveStack, key: str) -> Iterator[psycopg.Connection]:
    """Another process's request under a key, which has written its row and not committed yet."""
    with stack.admin("order_db") as admin:
        admin.execute("BEGIN")
        admin.execute(
            "INSERT INTO idempotency_keys (tenant_id, route, key, fingerprint, status, body)"
            " VALUES ('demo', 'POST /orders', %s, 'other content', 202, '{}')",
            (key,),
        )
        try:
            yield admin
        finally:
            admin.execute("ROLLBACK")


def test_c17_other_content_while_the_first_is_in_flight(saga: Saga, stack: LiveStack) -> None:
    key, body = str(uuid4()), saga.body()
    with ThreadPoolExecutor(1) as client:
        with first_in_flight(stack, key) as first:
            sent = client.submit(saga.post, body, {"Idempotency-Key": key})
            waits = "SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'"
            until(lambda: first.execute(waits).fetchone() or sent.done(), "the twin to wait")
            first.execute("COMMIT")
        answer = sent.result()
    assert answer.status_code == 422, answer.text
    assert [error["field"] for error in answer.json()["errors"]] == ["Idempotency-Key"]
    assert saga.db.count("order", "orders", customer_id=body["customer_id"]) == 0


def test_c18_a_storm_of_twins_is_told_to_wait_and_holds_up_nobody(
    saga: Saga, stack: LiveStack
) -> None:
    key, body, other = str(uuid4()), saga.body(), saga.body()
    with ThreadPoolExecutor(60) as clients, first_in_flight(stack, key):
        storm = [clients.submit(saga.post, body, {"Idempotency-Key": key}) for _ in range(35)]
        assert saga.post(other).status_code == 202
        answers = [sent.result() for sent in storm]
    assert {answer.status_code for answer in answers} == {409}
    assert all(int(answer.headers["Retry-After"]) > 0 for answer in answers)
    assert {answer.json()["type"] for answer in answers} == {"/problems/request-in-flight"}
    assert saga.post(body, {"Idempotency-Key": key}).status_code == 202


PRINTABLE = "".join(map(chr, range(0x20, 0x7F)))


@pytest.mark.parametrize("length", [3, 255])
def test_c18_a_key_is_1_to_255_printable_characters(saga: Saga, length: int) -> None:
    key = {"Idempotency-Key": f"{uuid4().hex[:4]}{PRINTABLE * 3}"[: length - 1] + "."}
    body = saga.body()
    first, again = saga.post(body, key), saga.post(body, key)
    assert (first.status_code, again.status_code) == (202, 202)
    assert (first.json(), first.headers["Location"]) == (again.json(), again.headers["Location"])
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"


@pytest.mark.parametrize(
    "key", ["", "k" * 256, "a\tb", "cl\xe9"], ids=["empty", "256", "tab", "accent"]
)
def test_c18_any_other_key_is_refused(saga: Saga, key: str) -> None:
    body = saga.body({"MUG": 1}, customer_id=f"customer-{uuid4()}")
    headers = {b"Idempotency-Key": key.encode("latin-1")}
    answer = saga.shop.orders.send("POST", "/orders", json=body, headers=headers)
    _refused(saga, answer, "Idempotency-Key", body["customer_id"])
