"""Two hundred orders of every ending from twenty clients at once, and a replay of their topic."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from uuid import UUID

import pytest

from services.orderctl.waiting import ENDINGS
from tests.live_stack import LiveStack
from tests.saga.support.databases import Row
from tests.saga.support.orderctl import orderctl
from tests.saga.support.saga import Saga
from tests.saga.support.wait import eventually

ORDERS, CLIENTS, DELETED = 200, 20, 20


@dataclass(frozen=True, slots=True)
class Kind:
    """How an order is placed, and the ending it comes to."""

    ending: str
    token: str = "tok_ok"
    cancel: bool = False
    short: bool = False
    pay_within: int = 900


KINDS = (
    Kind("confirmed"),
    Kind("confirmed"),
    Kind("confirmed", "tok_flaky_1"),
    Kind("confirmed", "tok_slow_300"),
    Kind("cancelled:out_of_stock", short=True),
    Kind("cancelled:payment_declined", "tok_declined"),
    Kind("cancelled:payment_timeout", "tok_slow_4000", pay_within=1),
    Kind("cancelled:customer_request", "tok_flaky_9", cancel=True),
    Kind("cancelled:customer_request", "tok_slow_3000", cancel=True),
    Kind("needs_attention:customer_request", "tok_slow_3000.refund_fails", cancel=True),
)


@pytest.mark.timeout(600)
def test_two_hundred_orders_of_every_ending_and_a_replay(saga: Saga, stack: LiveStack) -> None:
    mug, tea = saga.goods("MUG", 2 * ORDERS), saga.goods("TEA", 3 * ORDERS)
    unicorn = saga.unheard_of()
    customers = [saga.customer() for _ in range(CLIENTS)]

    def place(number: int) -> tuple[str, str]:
        kind = KINDS[number % len(KINDS)]
        lines = {mug: 1, tea: 1 + number % 3, **({unicorn: 1} if kind.short else {})}
        customer = customers[number % CLIENTS]
        order_id = saga.place(lines, kind.token, customer_id=customer, pay_within=kind.pay_within)
        if kind.cancel:
            if kind.token.startswith("tok_slow"):
                saga.charging(order_id)
            saga.cancelled(order_id)
        return order_id, kind.ending

    with ThreadPoolExecutor(CLIENTS) as clients:
        expected = dict(clients.map(place, range(ORDERS)))

    def all_as_expected() -> None:
        query = "SELECT order_id, status, reason FROM orders WHERE order_id = ANY(:ids)"
        rows = saga.db.rows("order", query, ids=list(expected))
        found = {row["order_id"]: _ending(row) for row in rows}
        assert found == expected

    eventually(all_as_expected, 90)
    saga.verify(seconds=90)
    assert {ending.split(":")[0] for ending in expected.values()} == ENDINGS
    _replay_restores(saga, stack, list(expected))


def _replay_restores(saga: Saga, stack: LiveStack, orders: Sequence[str]) -> None:
    before = _read_model(saga, orders)
    deleted = [UUID(order_id) for order_id in orders[:DELETED]]
    with stack.admin("projector_db") as admin:
        for table in ("order_timeline", "order_view"):
            admin.execute(f"DELETE FROM {table} WHERE order_id = ANY(%s)", [deleted])
    assert len(_read_model(saga, orders)["order_view"]) == len(orders) - len(deleted)

    done = orderctl("replay", "--topic", "order.events", "--from-beginning")
    assert done.returncode == 0, done.stdout + done.stderr
    assert _read_model(saga, orders) == before
    saga.verify(orders)


def _read_model(saga: Saga, orders: Sequence[str]) -> dict[str, list[Row]]:
    """Every row that the read model has of these orders, whole."""
    query = "SELECT * FROM {} WHERE order_id = ANY(CAST(:ids AS uuid[])) ORDER BY {}"
    return {
        table: saga.db.rows("projector", query.format(table, key), ids=list(orders))
        for table, key in (("order_view", "1"), ("order_timeline", "1, 2"))
    }


def _ending(row: Row) -> str:
    return f"{row['status']}:{row['reason']}" if row["reason"] else str(row["status"])
