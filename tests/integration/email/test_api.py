"""Email's routes: contacts, and what was mailed about an order."""

from uuid import uuid4

import pytest
from fastapi.testclient import TestClient

from tests.integration.email.inputs import cancelled, confirmed, refused, taken
from tests.integration.scratch import Scratch

ADA = {"name": "Ada Lovelace", "address": "ada@shop.example"}


def test_a_contact_is_kept_and_replaced(client: TestClient) -> None:
    url = f"/contacts/{uuid4()}"
    assert client.get(url).status_code == 404
    for contact in (ADA, {"name": "Zoë", "address": "zoe@shop.example"}):
        answer = client.put(url, json=contact)
        assert (answer.status_code, answer.json()) == (200, contact)
        assert client.get(url).json() == contact


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"name": "Eve\r\nBcc: all@shop.example"}, "name"),
        ({"name": ""}, "name"),
        ({"name": None}, "name"),
        ({"address": "eve"}, "address"),
        ({"address": "eve@shop.example\nBcc: all@shop.example"}, "address"),
        ({"phone": "1"}, "phone"),
    ],
)
def test_c64_a_contact_that_is_none_is_422_and_not_kept(
    client: TestClient, wrong: dict[str, object], field: str
) -> None:
    url = f"/contacts/{uuid4()}"
    answer = client.put(url, json={**ADA, **wrong})
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == [field]
    assert client.get(url).status_code == 404


@pytest.mark.parametrize("customer", ["x" * 65, "a%20b", "a%0Ab", "%C3%A9"])
def test_a_customer_id_that_is_none_is_422(client: TestClient, customer: str) -> None:
    assert client.put(f"/contacts/{customer}", json=ADA).status_code == 422


def test_messages_are_shown_with_their_status(client: TestClient, email: Scratch) -> None:
    key = str(uuid4())
    assert client.get(f"/messages/{key}").status_code == 404
    email.handle(confirmed(key), cancelled(key), taken(key, "confirmed"))
    email.handle(refused(key, "cancelled", "smtp_550"))
    assert client.get(f"/messages/{key.upper()}").json() == {
        "messages": [
            {
                "kind": "cancelled",
                "status": "failed",
                "message_id": f"<{key}.cancelled@order-saga.example>",
                "reason": "smtp_550",
            },
            {
                "kind": "confirmed",
                "status": "sent",
                "message_id": f"<{key}.confirmed@order-saga.example>",
                "reason": None,
            },
        ]
    }


def test_an_order_id_that_is_none_is_422(client: TestClient) -> None:
    assert client.get("/messages/1").status_code == 422
