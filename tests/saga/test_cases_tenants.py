"""Cases from the field: whose order it is, and that one greedy client does not hurt others."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.live_stack import LiveStack
from tests.saga.support.faults import Faults
from tests.saga.support.instance import instance
from tests.saga.support.orderctl import orderctl, orderctl_json
from tests.saga.support.saga import Saga
from tests.saga.support.wait import until


@dataclass(frozen=True)
class Client:
    """Someone with an API key."""

    stack: LiveStack
    tenant: str
    key: str

    def send(self, service: str, method: str, path: str, **options: Any) -> httpx.Response:
        """A request with the key."""
        headers = {"Authorization": f"Bearer {self.key}"}
        url = f"{self.stack.url(service)}{path}"
        return httpx.request(method, url, headers=headers, timeout=20, **options)

    def place(self, saga: Saga, **more: Any) -> httpx.Response:
        """An order of nothing that is in stock, unless told otherwise."""
        sku = saga.unheard_of()
        body = saga.body({sku: 1}, customer_id="customer-of-a-tenant", **more)
        return self.send("order", "POST", "/orders", json=body)


@contextmanager
def a_client(stack: LiveStack, *options: str) -> Iterator[Client]:
    """A new tenant with a key that every service knows, taken away at the end."""
    made = orderctl_json("keys", "create", f"tenant-{uuid4().hex[:8]}", *options)
    client = Client(stack, made["tenant"], made["key"])
    until(
        lambda: all(
            client.send(service, "GET", path).status_code != 401
            for service, path in (("order", f"/orders/{uuid4()}"), ("projector", "/orders"))
        ),
        "the key to be known",
    )
    yield client
    assert orderctl("keys", "revoke", made["id"]).returncode == 0


@pytest.fixture(scope="module")
def ada(stack: LiveStack) -> Iterator[Client]:
    """A tenant."""
    with a_client(stack) as client:
        yield client


@pytest.fixture(scope="module")
def eve(stack: LiveStack) -> Iterator[Client]:
    """Another tenant, who may place two orders a second and have three open."""
    with a_client(stack, "--orders-per-second", "2", "--open-orders", "3") as client:
        yield client


def test_c24_another_tenants_order_is_not_there(saga: Saga, ada: Client, eve: Client) -> None:
    ada.send("inventory", "POST", "/stock/receipts", json={"lines": [{"sku": "X", "quantity": 9}]})
    body = saga.body({"X": 1}, "tok_slow_3000", customer_id="customer-of-ada")
    placed = ada.send("order", "POST", "/orders", json=body)
    assert placed.status_code == 202, placed.text
    order_id = placed.json()["order_id"]
    until(
        lambda: ada.send("projector", "GET", f"/orders/{order_id}").status_code == 200, "the view"
    )
    for method, service, path in (
        ("GET", "order", f"/orders/{order_id}"),
        ("GET", "order", f"/orders/{order_id}?wait=5"),
        ("DELETE", "order", f"/orders/{order_id}"),
        ("GET", "order", f"/orders/{order_id}/events"),
        ("GET", "payment", f"/payments/{order_id}"),
        ("POST", "payment", f"/payments/{order_id}/refund"),
        ("GET", "inventory", f"/reservations/{order_id}"),
        ("GET", "inventory", "/stock/X"),
        ("GET", "email", f"/messages/{order_id}"),
        ("GET", "analytics", f"/orders/{order_id}"),
        ("GET", "projector", f"/orders/{order_id}"),
    ):
        answer = eve.send(service, method, path)
        assert answer.status_code == 404, (service, path, answer.text)
    assert eve.send("projector", "GET", "/orders").json()["orders"] == []

    def ended() -> dict[str, Any] | None:
        answer: dict[str, Any] = ada.send("order", "GET", f"/orders/{order_id}?wait=15").json()
        return answer if answer["status"] != "pending" else None

    ending = until(ended, "the ending")
    assert (ending["status"], ending["reason"]) == ("confirmed", None)
    looked = orderctl("repair", order_id, "--dry-run")  # an operator looks after everybody's
    assert looked.returncode == 0, looked.stderr
    for service in ("order", "inventory", "payment", "email"):
        rows = saga.db.rows(
            service,
            "SELECT DISTINCT tenant_id FROM outbox WHERE aggregate_id = :key",
            key=order_id,
        )
        assert {row["tenant_id"] for row in rows} <= {ada.tenant}
    saga.stack.wait_ready("order")
    assert f'"tenant": "{ada.tenant}"' in saga.stack.log("order")


def test_a_key_is_rotated_and_revoked(saga: Saga, stack: LiveStack) -> None:
    made = orderctl_json("keys", "create", f"tenant-{uuid4().hex[:8]}")
    first = Client(stack, made["tenant"], made["key"])
    until(lambda: _status(first) == 404, "the key to be known")
    turned = orderctl_json("keys", "rotate", made["id"], "--grace", "0")
    second = Client(stack, turned["tenant"], turned["key"])
    assert second.tenant == first.tenant
    until(lambda: _status(first) == 401 and _status(second) == 404, "the keys to change")
    assert turned["id"] in {row["id"] for row in orderctl_json("keys", "list")}
    assert orderctl("keys", "revoke", turned["id"]).returncode == 0
    until(lambda: _status(second) == 401, "the key to be taken away")
    assert orderctl("keys", "revoke", made["id"]).returncode == 0
    refused = first.send("order", "GET", f"/orders/{uuid4()}")
    assert refused.json()["type"] == "/problems/unauthorized"
    assert refused.headers["WWW-Authenticate"] == "Bearer"


def _status(client: Client) -> int:
    return client.send("order", "GET", f"/orders/{uuid4()}").status_code


def test_a_greedy_tenant_is_slowed_down_and_no_other(saga: Saga, ada: Client, eve: Client) -> None:
    with ThreadPoolExecutor(12) as clients:
        answers = list(clients.map(lambda _: eve.place(saga), range(12)))
        others = list(clients.map(lambda _: ada.place(saga), range(6)))
    refused = [answer for answer in answers if answer.status_code == 429]
    assert refused, [answer.status_code for answer in answers]
    assert {answer.status_code for answer in answers} <= {202, 429}
    assert all(int(answer.headers["Retry-After"]) >= 1 for answer in refused)
    assert {answer.headers["RateLimit-Policy"] for answer in answers if answer not in refused} == {
        '"orders";q=2;w=1'
    }
    assert {answer.status_code for answer in others} == {202}
    assert eve.send("order", "DELETE", f"/orders/{uuid4()}").status_code == 404


def test_a_tenant_has_so_many_open_orders(saga: Saga, eve: Client, faults: Faults) -> None:
    with faults.stopped("inventory"):
        placed: list[str] = []

        def full() -> httpx.Response | None:
            answer = eve.place(saga)
            if answer.status_code == 202:
                placed.append(answer.json()["order_id"])
            problem = answer.json().get("type")
            return answer if problem == "/problems/too-many-open-orders" else None

        refused = until(full, "the quota to be used up")
        assert (refused.status_code, int(refused.headers["Retry-After"]) >= 1) == (429, True)
        assert eve.send("order", "DELETE", f"/orders/{placed[0]}").status_code == 202
        until(lambda: eve.place(saga).status_code == 202, "room for one more")


def test_an_overloaded_system_says_so(saga: Saga, stack: LiveStack, faults: Faults) -> None:
    limits = {"SAGA_ADMISSION_MAX_LAG": "3", "SAGA_ADMISSION_LOOK": "0.3"}
    bodies = [saga.body({saga.unheard_of(): 1}) for _ in range(6)]
    with instance(stack, "order", SAGA_ROLES="api", **limits) as one:
        one.wait_ready()
        with faults.stopped("inventory"):
            orders = [saga.post(body).json()["order_id"] for body in bodies[:5]]

            def refused() -> httpx.Response | None:
                answer = httpx.post(f"{one.url}/orders", json=bodies[5], timeout=20)
                return answer if answer.status_code == 503 else None

            answer = until(refused, "the system to be overloaded")
            assert answer.json()["type"] == "/problems/overloaded"
            assert int(answer.headers["Retry-After"]) >= 1
            cancelled = httpx.delete(f"{one.url}/orders/{orders[0]}", timeout=20)
            assert cancelled.status_code == 202
        until(
            lambda: httpx.post(f"{one.url}/orders", json=bodies[5], timeout=20).is_success,
            "orders to be taken again",
        )


@pytest.mark.parametrize("how", ["said", "chunked"])
def test_a_request_that_is_too_large_is_refused(saga: Saga, how: str) -> None:
    large = b'{"customer_id": "' + b"x" * 2_000_000 + b'"}'
    content = large if how == "said" else iter([large[:1_000_000], large[1_000_000:]])
    answer = httpx.post(
        f"{saga.stack.url('order')}/orders",
        content=content,
        headers={"Content-Type": "application/json"},
        timeout=20,
    )
    assert (answer.status_code, answer.json()["type"]) == (413, "/problems/too-large")


def test_a_cancel_is_accepted_again_and_refused_with_the_reason(saga: Saga) -> None:
    order_id = saga.place(token="tok_slow_2000")
    first = saga.shop.cancel(order_id)
    again = saga.shop.cancel(order_id)
    assert [answer.status_code for answer in (first, again)] == [202, 202]
    assert again.json()["reason"] == "customer_request"
    for token, reason in (("tok_ok", "confirmed"), ("tok_declined", "payment_declined")):
        ended = saga.place(token=token)
        saga.ended(ended)
        refused = saga.shop.cancel(ended)
        assert (refused.status_code, refused.json()["type"]) == (409, "/problems/order-ended")
        assert refused.json()["reason"] == reason
