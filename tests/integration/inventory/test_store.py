"""Stock under many hands: locks in one order, constraints that hold whatever the rules say."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from services.inventory.domain import Line
from services.inventory.store import receive
from tests.integration.scratch import Scratch
from tests.unit.inventory.test_reservation import cancelled, placed


def stocked(inventory: Scratch, **pieces: int) -> None:
    with inventory.db.begin() as conn:
        receive(conn, "demo", [Line(sku, number) for sku, number in pieces.items()])


def levels(inventory: Scratch) -> dict[str, tuple[int, int, int]]:
    rows = inventory.rows("SELECT sku, imported, available, held FROM stock ORDER BY sku")
    return {sku: (imported, available, held) for sku, imported, available, held in rows}


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]


def test_c01_the_last_piece_is_held_once_by_many_transactions_at_once(inventory: Scratch) -> None:
    stocked(inventory, A=1)
    keys = [str(uuid4()) for _ in range(16)]
    at_once(*(lambda key=key: inventory.handle(placed(("A", 1), key=key)) for key in keys))
    assert Counter(inventory.emitted(key)[0] for key in keys) == {
        "StockReserved": 1,
        "StockRejected": 15,
    }
    assert levels(inventory) == {"A": (1, 0, 1)}


def test_c01_the_last_piece_is_held_once_in_one_batch(inventory: Scratch) -> None:
    stocked(inventory, A=1)
    keys = [str(uuid4()) for _ in range(20)]
    inventory.handle(*(placed(("A", 1), key=key) for key in keys))
    assert [inventory.emitted(key) for key in keys] == [["StockReserved"]] + [
        ["StockRejected"]
    ] * 19
    assert levels(inventory) == {"A": (1, 0, 1)}


def test_batches_and_receipts_of_the_same_skus_never_wait_in_a_circle(inventory: Scratch) -> None:
    skus = [f"S{number}" for number in range(8)]
    stocked(inventory, **dict.fromkeys(skus, 1000))
    random = Random(7)

    def batch() -> list[str]:
        orders = [[(sku, 1) for sku in random.sample(skus, 4)] for _ in range(10)]
        return inventory.handle(*(placed(*lines, key=str(uuid4())) for lines in orders))

    def receipt() -> None:
        with inventory.db.begin() as conn:
            receive(conn, "demo", [Line(sku, 1) for sku in random.sample(skus, 8)])

    at_once(*[batch, receipt] * 8)
    assert sum(held for _, _, held in levels(inventory).values()) == 8 * 10 * 4
    assert {imported for imported, _, _ in levels(inventory).values()} == {1008}


def test_a_reservation_survives_the_way_to_the_database_and_back(inventory: Scratch) -> None:
    stocked(inventory, A=5, B=5)
    key = str(uuid4())
    assert inventory.handle(placed(("B", 1), ("A", 2), key=key)) == ["applied"]
    assert inventory.handle(cancelled(key), cancelled(key)) == [
        "applied",
        "ignored:already_released",
    ]
    assert inventory.handle(placed(("A", 1), key=key)) == ["ignored:already_released"]
    assert inventory.emitted(key) == ["StockReserved", "StockReleased"]
    assert levels(inventory) == {"A": (5, 5, 0), "B": (5, 5, 0)}
    assert inventory.rows(
        "SELECT sku, quantity FROM reservation_lines WHERE key = :key ORDER BY sku", key=key
    ) == [("A", 2), ("B", 1)]


def test_c06_the_tombstone_is_stored(inventory: Scratch) -> None:
    stocked(inventory, A=5)
    key = str(uuid4())
    assert inventory.handle(cancelled(key)) == ["applied"]
    assert inventory.handle(placed(("A", 1), key=key)) == ["ignored:order_cancelled"]
    assert inventory.emitted(key) == []
    assert levels(inventory) == {"A": (5, 5, 0)}


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE stock SET available = -1, held = 6",
        "UPDATE stock SET available = 6, held = -1",
        "UPDATE stock SET available = 4",
        "INSERT INTO reservation_lines VALUES (:key, 'A', 'demo', 0)",
        "INSERT INTO reservation_lines VALUES (:key, 'ghost', 'demo', 1)",
        "INSERT INTO reservations VALUES ('x', 'demo', 'half', 1)",
        "INSERT INTO stock VALUES ('demo', '', 0, 0, 0)",
    ],
)
def test_the_database_refuses_what_the_rules_would_never_write(
    inventory: Scratch, change: str
) -> None:
    stocked(inventory, A=5)
    key = str(uuid4())
    inventory.handle(placed(("A", 9), key=key))
    with pytest.raises(IntegrityError), inventory.db.begin() as conn:
        values = {"key": key} if ":key" in change else {}
        conn.execute(sa.text(change), values)
