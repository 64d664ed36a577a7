"""Webhooks on the running stack: told once by id, tried again, given up, sent again."""

import json
import os
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from standardwebhooks import Webhook

from tests.live_stack import LiveStack
from tests.saga.support.instance import free_port, instance
from tests.saga.support.saga import Saga
from tests.saga.support.wait import until

PAGE = Path(__file__).parents[2] / "docs" / "webhooks.md"
RECEIVER = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Receiver:
    """A server that answers with the given statuses in turn, the last one for ever."""

    def __init__(self, *statuses: int, retry_after: str = "") -> None:
        self.got: list[tuple[dict[str, str], str]] = []
        answers = list(statuses)
        got = self.got

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                got.append(({k.lower(): v for k, v in self.headers.items()}, body))
                self.send_response(answers.pop(0) if len(answers) > 1 else answers[0])
                if retry_after:
                    self.send_header("Retry-After", retry_after)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Says nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@contextmanager
def registered(saga: Saga, url: str, *events: str) -> Iterator[dict[str, Any]]:
    """A webhook, disabled at the end."""
    body = {"url": url, **({"events": list(events)} if events else {})}
    made = saga.shop.orders.call("POST", "/webhooks", json=body)
    try:
        yield made
    finally:
        saga.shop.orders.call("POST", f"/webhooks/{made['webhook_id']}/disable")


def deliveries(saga: Saga, webhook: dict[str, Any], order_id: str) -> list[dict[str, Any]]:
    """What became of the messages about an order."""
    path = f"/webhooks/{webhook['webhook_id']}/deliveries"
    found = saga.shop.orders.call("GET", path)["deliveries"]
    return [one for one in found if one["key"] == order_id]


def is_over(saga: Saga, webhook: dict[str, Any], order_id: str, status: str) -> Any:
    """The delivery about an order, once it has the status."""
    return until(
        lambda: next(
            (one for one in deliveries(saga, webhook, order_id) if one["status"] == status), None
        ),
        f"a delivery that is {status}",
    )


def test_an_ending_is_told_signed_and_a_failure_is_tried_again_under_its_id(saga: Saga) -> None:
    receiver = Receiver(500, 204)
    with registered(saga, receiver.url, "order.confirmed") as webhook:
        declined, order_id = saga.place(token="tok_declined"), saga.place()
        done = is_over(saga, webhook, order_id, "delivered")
        saga.ended(declined)
        assert (done["attempts"], done["answer"]) == (2, 204)
        assert not deliveries(saga, webhook, declined)
        about = [(headers, body) for headers, body in receiver.got if order_id in body]
        assert len({headers["webhook-id"] for headers, _ in about}) == 1
        for headers, body in about:
            Webhook(webhook["secret"]).verify(body.encode(), headers)
            assert json.loads(body)["type"] == "order.confirmed"


def test_410_disables_and_a_redirect_is_not_followed(saga: Saga) -> None:
    receiver = Receiver(302, 410)
    with registered(saga, receiver.url) as webhook:
        order_id = saga.place()
        assert is_over(saga, webhook, order_id, "dead")["answer"] == 410
        listed = {one["webhook_id"]: one for one in saga.shop.orders.call("GET", "/webhooks")}
        assert listed[webhook["webhook_id"]]["status"] == "disabled"
        path = f"/webhooks/{webhook['webhook_id']}"
        assert saga.shop.orders.send("POST", f"{path}/test").status_code == 409


def test_retry_after_is_heeded_and_a_message_can_be_sent_again(saga: Saga) -> None:
    receiver = Receiver(503, retry_after="3600")
    with registered(saga, receiver.url) as webhook:
        order_id = saga.place()
        waits = until(
            lambda: next(
                (one for one in deliveries(saga, webhook, order_id) if one["next_at"]), None
            ),
            "a second attempt to be planned",
        )
        assert waits["next_at"] > waits["updated_at"]
        assert waits["attempts"] == 1
        path = f"/webhooks/{webhook['webhook_id']}"
        refused = saga.shop.orders.send("POST", f"{path}/deliveries/{waits['delivery_id']}/resend")
        assert refused.status_code == 409
    other = Receiver(204)
    with registered(saga, other.url) as webhook:
        path = f"/webhooks/{webhook['webhook_id']}"
        first = saga.shop.orders.call("POST", f"{path}/test")
        done = is_over(saga, webhook, webhook["webhook_id"], "delivered")
        assert done["delivery_id"] == first["delivery_id"]
        turned = saga.shop.orders.call("POST", f"{path}/rotate", json={"grace": 60})
        saga.shop.orders.call("POST", f"{path}/deliveries/{done['delivery_id']}/resend")
        until(lambda: len(other.got) == 2, "the message to come again")
        headers, body = other.got[1]
        assert headers["webhook-id"] == done["delivery_id"]
        for secret in (webhook["secret"], turned["secret"]):
            Webhook(secret).verify(body.encode(), headers)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_private_target_is_refused_where_the_setting_does_not_allow_it(
    stack: LiveStack, host: str
) -> None:
    with instance(stack, "order", SAGA_ROLES="api", SAGA_WEBHOOK_PRIVATE_TARGETS="0") as one:
        one.wait_ready()
        url = f"https://{host}/" if host == "127.0.0.1" else f"http://{host}/"
        refused = httpx.post(f"{one.url}/webhooks", json={"url": url}, timeout=20)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "url")


def test_the_receiver_of_the_page_takes_a_message_once(saga: Saga, tmp_path: Path) -> None:
    port, store = free_port(), tmp_path / "seen.sqlite3"
    source = RECEIVER.search(PAGE.read_text())
    assert source is not None
    with registered(saga, f"http://127.0.0.1:{port}/hooks", "order.confirmed") as webhook:
        environment = {
            **os.environ,
            "RECEIVER_DB": str(store),
            "RECEIVER_SECRET": webhook["secret"],
            "RECEIVER_PORT": str(port),
        }
        process = subprocess.Popen([sys.executable, "-c", source[1]], env=environment)
        try:
            until(lambda: _answers(port), "the receiver to listen")
            order_id = saga.place()
            done = is_over(saga, webhook, order_id, "delivered")
            path = f"/webhooks/{webhook['webhook_id']}/deliveries/{done['delivery_id']}/resend"
            saga.shop.orders.call("POST", path)
            is_over(saga, webhook, order_id, "delivered")
        finally:
            process.kill()
            process.wait()
    rows = sqlite3.connect(store).execute("SELECT id, body FROM seen").fetchall()
    assert [row[0] for row in rows if order_id in row[1]] == [done["delivery_id"]]


def _answers(port: int) -> bool:
    try:
        return httpx.post(f"http://127.0.0.1:{port}/", content=b"{}").status_code == 401
    except httpx.TransportError:
        return False
