"""Inventory's routes: receipts, stock page by page, and what an order holds."""

from uuid import UUID, uuid4

import pytest
from fastapi.testclient import TestClient

from tests.integration.scratch import Scratch
from tests.unit.inventory.test_reservation import cancelled, placed

NOBODYS = UUID(int=0)


def receive(client: TestClient, **pieces: int) -> list[dict[str, object]]:
    lines = [{"sku": sku, "quantity": number} for sku, number in pieces.items()]
    answer = client.post("/stock/receipts", json={"lines": lines})
    assert answer.status_code == 201, answer.text
    found: list[dict[str, object]] = answer.json()
    return found


def test_receipts_add_up(client: TestClient) -> None:
    receive(client, A=5)
    assert receive(client, B=1, A=2) == [
        {"sku": "A", "imported": 7, "available": 7, "held": 0},
        {"sku": "B", "imported": 1, "available": 1, "held": 0},
    ]
    assert client.get("/stock/A").json()["available"] == 7


def test_stock_comes_page_by_page(client: TestClient) -> None:
    receive(client, C=3, A=1, B=2)
    first = client.get("/stock", params={"limit": 2}).json()
    assert ([row["sku"] for row in first["stock"]], first["next"]) == (["A", "B"], "B")
    second = client.get("/stock", params={"limit": 2, "after": first["next"]}).json()
    assert ([row["sku"] for row in second["stock"]], second["next"]) == (["C"], None)


def test_a_reservation_can_be_read_from_placement_to_release(
    client: TestClient, inventory: Scratch
) -> None:
    receive(client, A=5)
    key = str(uuid4())
    assert client.get(f"/reservations/{key}").status_code == 404
    inventory.handle(placed(("A", 2), key=key))
    lines = [{"sku": "A", "quantity": 2}]
    held = {"order_id": key, "status": "reserved", "lines": lines, "version": 1}
    assert client.get(f"/reservations/{key}").json() == held
    inventory.handle(cancelled(key))
    released = client.get(f"/reservations/{key.upper()}").json()
    assert released == held | {"status": "released", "version": 2}


@pytest.mark.parametrize("path", ["/stock/ghost", f"/reservations/{NOBODYS}"])
def test_what_is_not_there_is_404_with_problem_details(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("lines", "field"),
    [
        ([{"sku": "A", "quantity": 0}], "lines.0.quantity"),
        ([{"sku": "A", "quantity": -4}], "lines.0.quantity"),
        ([{"sku": "A", "quantity": 1.5}], "lines.0.quantity"),
        ([{"sku": "A", "quantity": "3"}], "lines.0.quantity"),
        ([{"sku": "A", "quantity": True}], "lines.0.quantity"),
        ([{"sku": "A", "quantity": 10**18}], "lines.0.quantity"),
        ([{"sku": "", "quantity": 1}], "lines.0.sku"),
        ([{"sku": "A\x00", "quantity": 1}], "lines.0.sku"),
        ([{"sku": "A", "quantity": 1, "price": 2}], "lines.0.price"),
        ([], "lines"),
    ],
)
def test_c20_a_receipt_that_makes_no_sense_names_the_field_and_stores_nothing(
    client: TestClient, lines: list[dict[str, object]], field: str
) -> None:
    answer = client.post("/stock/receipts", json={"lines": lines})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == field
    assert client.get("/stock").json() == {"stock": [], "next": None}


@pytest.mark.parametrize("path", ["/stock/%00", "/stock?after=%00", "/stock?limit=0"])
def test_a_query_that_makes_no_sense_is_422(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 422
