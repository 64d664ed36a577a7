"""Webhooks on a real database: how many there may be, and which secrets stay valid."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient
from standardwebhooks import Webhook as Signer

from services.eventkit.http import create_app
from services.order import webhook_store
from services.order.sending import signature
from services.order.webhook_api import MOST, webhook_routes
from services.order.webhooks import OLD_SECRETS
from tests.integration.scratch import Scratch


@pytest.fixture
def client(orders: Scratch) -> Iterator[TestClient]:
    """The API of webhooks, with none registered."""
    with orders.db.begin() as conn:
        conn.execute(sa.text("DELETE FROM webhooks"))
    routes = webhook_routes(orders.runtime)
    with TestClient(create_app("order", [routes], {}, access=orders.runtime.access)) as made:
        yield made


def register(client: TestClient, url: str = "https://shop.example/hooks") -> Any:
    return client.post("/webhooks", json={"url": url})


def test_registers_at_the_same_moment_do_not_pass_the_limit(client: TestClient) -> None:
    for _ in range(MOST - 2):
        assert register(client).status_code == 201
    with ThreadPoolExecutor(8) as pool:
        answers = [answer.status_code for answer in pool.map(lambda _: register(client), range(8))]
    assert sorted(answers) == [201] * 2 + [409] * 6


def test_a_disabled_webhook_makes_room_for_another(client: TestClient) -> None:
    for _ in range(MOST):
        last = register(client).json()
    assert register(client).json()["type"] == "/problems/too-many-webhooks"
    client.post(f"/webhooks/{last['webhook_id']}/disable")
    assert register(client).status_code == 201
    assert len(client.get("/webhooks").json()) == MOST + 1


def test_a_receiver_verifies_though_the_answers_to_two_rotations_were_lost(
    orders: Scratch, client: TestClient
) -> None:
    made = register(client).json()
    for _ in range(2):
        client.post(f"/webhooks/{made['webhook_id']}/rotate", json={})
    with orders.db.connect() as conn:
        webhook = webhook_store.webhook(conn, made["webhook_id"])
    assert webhook is not None
    now = datetime.now(UTC)
    signed = {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": signature(webhook, "msg_1", now, "{}"),
    }
    Signer(made["secret"]).verify("{}", signed)


def test_rotations_at_the_same_moment_lose_no_secret_and_are_not_without_end(
    orders: Scratch, client: TestClient
) -> None:
    path = f"/webhooks/{register(client).json()['webhook_id']}/rotate"
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: client.post(path, json={}), range(OLD_SECRETS)))
    new = {answer.json()["secret"] for answer in answers}
    with orders.db.connect() as conn:
        (webhook,) = webhook_store.webhooks(conn, "demo")
    assert new < {webhook.secret, *(old.secret for old in webhook.old_secrets)}
    refused = client.post(path, json={})
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/too-many-secrets")
    assert client.post(path, json={"grace": 0}).status_code == 200
    assert client.post(path, json={}).status_code == 200


@pytest.mark.parametrize("url", [" https://shop.example/", "https://shop.example/\x00"])
def test_a_url_that_could_never_be_called_is_named(client: TestClient, url: str) -> None:
    refused = register(client, url)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "url")
