"""Cases from the field: a client that waits, by polling, by a long poll or by a stream."""

import re
import socket
import struct
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import pytest

from services.orderctl.client import Http
from tests.live_stack import LiveStack
from tests.saga.support.faults import Faults
from tests.saga.support.instance import GRACE, Instance, instance
from tests.saga.support.saga import Saga
from tests.saga.support.sse import Stream, Told, follow
from tests.saga.support.wait import until

MANY = 300


def states(events: list[Told]) -> list[tuple[str, str]]:
    """What was told of an order: its status and what it waited for."""
    return [
        (told.data["status"], (told.data["waiting_for"] or {"step": ""})["step"])
        for told in events
        if told.name == "order"
    ]


def url(saga: Saga, path: str) -> str:
    return f"{saga.stack.url('order')}{path}"


def test_a_poll_gets_the_order_only_when_it_has_changed(saga: Saga) -> None:
    order_id = saga.place(token="tok_slow_5000")
    saga.charging(order_id)
    waits = until(
        lambda: (
            (found := _get(saga, order_id)).json()["waiting_for"]["step"] == "payment" and found
        ),
        "the step",
    )
    step = waits.json()["waiting_for"]
    assert step["events"] == ["PaymentCaptured", "PaymentDeclined"]
    assert step["since"] >= waits.json()["placed_at"]
    tag = waits.headers["ETag"]
    for given in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = _get(saga, order_id, tag=given)
        assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", tag)
    assert saga.ended(order_id) == "confirmed"
    assert _get(saga, order_id, tag=tag).json()["status"] == "confirmed"


def test_a_long_poll_answers_at_the_ending_and_at_a_change(saga: Saga) -> None:
    order_id = saga.place(token="tok_slow_1500")
    first = _get(saga, order_id)
    with ThreadPoolExecutor(2) as clients:
        ending = clients.submit(_get, saga, order_id, wait=60)
        change = clients.submit(_get, saga, order_id, wait=60, tag=first.headers["ETag"])
        assert change.result().headers["ETag"] != first.headers["ETag"]
        assert ending.result().json()["status"] == "confirmed"
    last = _get(saga, order_id, wait=60)
    began = time.monotonic()
    unchanged = _get(saga, order_id, wait=1, tag=last.headers["ETag"])
    assert (unchanged.status_code, time.monotonic() - began >= 1) == (304, True)
    for seconds in (61, -1):
        refused = _get(saga, order_id, wait=seconds)
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "query.wait")


def _get(saga: Saga, order_id: str, wait: int = 0, tag: str = "") -> httpx.Response:
    headers = {"If-None-Match": tag} if tag else {}
    return httpx.get(
        url(saga, f"/orders/{order_id}"),
        params={"wait": wait} if wait else {},
        headers=headers,
        timeout=90,
    )


def test_waiting_holds_no_database_connection(saga: Saga) -> None:
    """The service has eight connections: forty waiters would leave none for an order."""
    order_id = saga.place(token="tok_slow_30000")
    path = url(saga, f"/orders/{order_id}/events")
    with ExitStack() as open_streams, ThreadPoolExecutor(20) as clients:
        streams = [open_streams.enter_context(follow(path)) for _ in range(20)]
        assert {stream.next().name for stream in streams} == {"order"}
        polls = [clients.submit(_get, saga, order_id, wait=60) for _ in range(20)]
        until(lambda: gauges(saga.shop.orders)["poll"] >= 20, "the polls to wait")
        assert gauges(saga.shop.orders)["order"] >= 20
        assert saga.ended(saga.place()) == "confirmed"
        saga.cancelled(order_id)
        assert {poll.result().json()["status"] for poll in polls} == {"cancelled"}
        assert {stream.rest()[-1].name for stream in streams} == {"end"}


def gauges(http: Http) -> dict[str, int]:
    """How many clients wait, by how they do."""
    text = http.send("GET", "/metrics").text
    found = re.findall(r'saga_waiting_clients\{how="(\w+)"\} (\d+)', text)
    return {"poll": 0, "order": 0, "tenant": 0} | {how: int(count) for how, count in found}


def test_c27_streams_that_are_reset_leave_nothing_behind(
    saga: Saga, stack: LiveStack, faults: Faults
) -> None:
    body = saga.body()
    with (
        faults.stopped("inventory"),
        instance(stack, "order", SAGA_ROLES="api", SAGA_HEARTBEAT="1") as one,
    ):
        order_id = saga.post(body).json()["order_id"]
        one.wait_ready()
        http, path = Http("order", one.url), f"{one.url}/orders/{order_id}/events"
        with ThreadPoolExecutor(10) as clients:
            list(clients.map(lambda _: _open_and_reset(one.url, order_id), range(MANY)))
        with follow(path) as stream:
            assert [stream.next(heartbeats=True).name for _ in range(3)] == [
                "order",
                "heartbeat",
                "heartbeat",
            ]
            until(lambda: gauges(http)["order"] == 1, "the reset streams to be forgotten")
        until(lambda: gauges(http)["order"] == 0, "the last stream to be forgotten")
        _ends_with_open_streams(one, path)
    assert saga.ended(order_id) == "confirmed"


def _open_and_reset(base_url: str, order_id: str) -> None:
    with open_socket(base_url, order_id) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@contextmanager
def open_socket(base_url: str, order_id: str) -> Iterator[socket.socket]:
    """An order's stream as a bare connection whose answer has begun."""
    address = urlsplit(base_url)
    with socket.create_connection((address.hostname, address.port), timeout=30) as client:
        client.sendall(f"GET /orders/{order_id}/events HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert client.recv(1000).startswith(b"HTTP/1.1 200")
        yield client


def _ends_with_open_streams(one: Instance, path: str) -> None:
    with ExitStack() as open_streams:
        streams = [open_streams.enter_context(follow(path)) for _ in range(10)]
        assert {stream.next().name for stream in streams} == {"order"}
        one.terminate()
        assert [stream.rest() for stream in streams] == [[]] * 10
        code, seconds = one.ended()
    assert (code, seconds < GRACE) == (0, True)


def test_c28_a_dropped_stream_is_taken_up_where_it_broke_off(saga: Saga, faults: Faults) -> None:
    body = saga.body()
    with faults.stopped("inventory"):
        order_id = saga.post(body).json()["order_id"]
        path = url(saga, f"/orders/{order_id}/events")
        with follow(path) as stream:
            first = stream.next()
            assert states([first]) == [("pending", "stock")]
    assert saga.ended(order_id) == "confirmed"
    with follow(path, first.id) as stream:
        missed = stream.rest()
    assert states(missed) == [("pending", "payment"), ("confirmed", "")]
    assert len({told.id for told in (first, *missed[:-1])}) == 3
    assert missed[-1].name == "end"
    assert httpx.get(path, headers={"Last-Event-ID": missed[-2].id}).status_code == 204


@pytest.mark.parametrize("place", ["1-1", "yesterday", "999999999-999999999"])
def test_c28_a_place_that_is_not_known_any_more(saga: Saga, place: str) -> None:
    order_id = saga.place()
    assert saga.ended(order_id) == "confirmed"
    with follow(url(saga, f"/orders/{order_id}/events"), place) as stream:
        told = stream.rest()
    assert [event.name for event in told] == ["resync", "order", "end"]
    assert states(told) == [("confirmed", "")]


def test_c28_a_finished_order_sends_its_state_and_ends(saga: Saga) -> None:
    order_id = saga.place(token="tok_declined")
    assert saga.ended(order_id) == "cancelled:payment_declined"
    with follow(url(saga, f"/orders/{order_id}/events")) as stream:
        told = stream.rest()
    assert [event.name for event in told] == ["order", "end"]
    assert (told[0].data["status"], told[0].data["reason"]) == ("cancelled", "payment_declined")
    missing = httpx.get(url(saga, f"/orders/{uuid4()}/events"))
    assert (missing.status_code, missing.json()["type"]) == (404, "/problems/not-found")


def test_c28_all_orders_in_one_stream(saga: Saga) -> None:
    path = url(saga, "/orders/events")
    with follow(path) as stream, ThreadPoolExecutor(1) as client:
        placed = client.submit(lambda: [saga.place() for _ in range(2)])
        first = _next_of(stream, placed.result()[0])
    assert first.data["status"] == "pending"
    orders = placed.result()
    assert {saga.ended(order_id) for order_id in orders} == {"confirmed"}
    with follow(path, first.id) as stream:
        missed = [_next_of(stream, *orders) for _ in range(5)]
    for order_id in orders:
        steps = states([told for told in (first, *missed) if told.data["order_id"] == order_id])
        assert steps == [("pending", "stock"), ("pending", "payment"), ("confirmed", "")]


def test_c28_a_lost_place_in_all_orders_is_said_once(saga: Saga) -> None:
    order_id = saga.place(token="tok_slow_10000")
    with follow(url(saga, "/orders/events"), "1-1") as stream:
        assert stream.next().name == "resync"
        assert _next_of(stream, order_id).data["status"] == "pending"
        saga.cancelled(order_id)
        assert _next_of(stream, order_id).data["status"] in ("pending", "cancelled")


def _next_of(stream: Stream, *orders: str) -> Told:
    """The next event about one of these: other tests' orders may still move."""
    while True:
        told = stream.next()
        if told.data.get("order_id") in orders:
            return told
