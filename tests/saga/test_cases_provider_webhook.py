"""Cases from the field: what the payment provider tells by itself, and who pretends to be it."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest
from standardwebhooks import Webhook

from infra.local.passwords import PROVIDER_WEBHOOK
from tests.saga.support.saga import Saga
from tests.saga.support.wait import until

YEAR_2001 = datetime(2001, 9, 9, tzinfo=UTC)


def notice(order_id: str, status: str = "captured", amount: int = 1250) -> str:
    """What the provider would send about an order."""
    data = {"reference": order_id, "status": status, "amount": amount, "currency": "EUR"}
    return json.dumps({"type": f"charge.{status}", "data": data})


def signed(saga: Saga, body: str, at: datetime | None = None, **headers: str) -> dict[str, str]:
    """The headers of a notice; ``headers`` replace some, an empty one is left out."""
    secret = saga.stack.settings.passwords[PROVIDER_WEBHOOK]
    moment, name = at or datetime.now(UTC), f"msg_{uuid4().hex}"
    made = {
        "webhook_id": name,
        "webhook_timestamp": str(int(moment.timestamp())),
        "webhook_signature": Webhook(f"whsec_{secret}").sign(name, moment, body),
        **headers,
    }
    return {key.replace("_", "-"): value for key, value in made.items() if value}


def send(saga: Saga, body: str, headers: dict[str, str]) -> httpx.Response:
    """A notice on its way to payment."""
    url = f"{saga.stack.url('payment')}/webhooks/provider"
    return httpx.post(url, content=body, headers=headers, timeout=20)


def payment(saga: Saga, order_id: str) -> Any:
    """An order's payment."""
    return saga.shop.payment.find(f"/payments/{order_id}")


def charging(saga: Saga) -> str:
    """An order whose charge takes longer than the test."""
    order_id = saga.place(token="tok_slow_4000")
    until(lambda: payment(saga, order_id), "the payment to be known")
    return order_id


def test_c25_only_the_provider_in_this_moment_is_believed(saga: Saga) -> None:
    order_id = charging(saga)
    body = notice(order_id)
    ahead = datetime.now(UTC) + timedelta(days=365)
    for headers in (
        {},
        signed(saga, body, webhook_timestamp=""),
        signed(saga, body, webhook_signature=""),
        signed(saga, body, webhook_id="msg_another"),
        signed(saga, body, webhook_signature="v1,AAAA"),
        signed(saga, body, webhook_signature="nonsense"),
        signed(saga, body, YEAR_2001),
        signed(saga, body, ahead),
        signed(saga, body, webhook_timestamp="soon"),
        signed(saga, body.replace("1250", "1251")),
    ):
        refused = send(saga, body, headers)
        assert (refused.status_code, refused.json()["type"]) == (401, "/problems/invalid-signature")
    assert saga.db.count("payment", "provider_events", key=order_id) == 0
    assert payment(saga, order_id)["status"] == "pending"
    malformed = json.dumps({"type": "charge.captured", "data": {"reference": order_id}})
    assert send(saga, malformed, signed(saga, malformed)).status_code == 422
    assert saga.ended(order_id) == "confirmed"


def test_c25_a_repeat_is_acknowledged_and_changes_nothing(saga: Saga) -> None:
    order_id = charging(saga)
    body = notice(order_id)
    headers = signed(saga, body)
    assert [send(saga, body, headers).status_code for _ in range(3)] == [202] * 3
    assert send(saga, body, signed(saga, body)).status_code == 202
    assert saga.ended(order_id) == "confirmed"
    saga.wait_for(order_id, "PaymentCaptured", "OrderConfirmed")
    assert saga.db.count("payment", "provider_events", key=order_id) == 2
    until(lambda: saga.ledger(order_id)["capture"] == [1250], "the capture at the provider")
    assert saga.topics.types(order_id).count("PaymentCaptured") == 1
    late = notice(order_id)
    assert send(saga, late, signed(saga, late)).status_code == 202
    wrong = notice(order_id, "declined")
    assert send(saga, wrong, signed(saga, wrong)).status_code == 202
    done = "SELECT 1 AS found FROM jobs WHERE key = :key AND status IN ('pending', 'running')"
    until(lambda: not saga.db.rows("payment", done, key=order_id), "the notices to be handled")
    assert payment(saga, order_id)["status"] == "captured"
    assert saga.topics.types(order_id).count("PaymentCaptured") == 1
    saga.verify()


@pytest.mark.parametrize("token", ["tok_async_700", "tok_ok.notify", "tok_slow_700.notify"])
def test_c25_the_provider_tells_after_before_or_during_the_call(saga: Saga, token: str) -> None:
    order_id = saga.place(token=token)
    assert saga.ended(order_id) == "confirmed"
    until(
        lambda: saga.db.count("payment", "provider_events", key=order_id), "the provider's notice"
    )
    assert saga.ledger(order_id) == {"capture": [1250], "refund": []}
    assert saga.topics.types(order_id).count("PaymentCaptured") == 1
    saga.verify()


def test_c25_a_notice_about_an_order_nobody_knows_is_acknowledged(saga: Saga) -> None:
    body = notice(str(uuid4()))
    assert send(saga, body, signed(saga, body)).status_code == 202
