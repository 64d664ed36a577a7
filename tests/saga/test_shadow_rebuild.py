"""A rebuild of the running stack's read model: orders go on, and nobody outside notices."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any

import pytest

from infra.names import EMITTERS
from tests.live_stack import LiveStack
from tests.saga.support.orderctl import orderctl, orderctl_json
from tests.saga.support.saga import Saga


@pytest.fixture(scope="module", autouse=True)
def none_left(stack: LiveStack) -> Iterator[None]:
    """Nothing but the current generation is there when the tests have ended."""
    yield
    for model in ("projector", "analytics"):
        assert orderctl("replay", "--drop", "--model", model).returncode == 0


@contextmanager
def placing(saga: Saga) -> Iterator[None]:
    """Orders one after the other, until the block ends."""
    stop = Event()
    lines = {saga.goods("MUG", 1000): 1}
    customer = saga.customer()

    def place() -> None:
        while not stop.wait(0.2):
            saga.place(lines, customer_id=customer)

    with ThreadPoolExecutor(1) as pool:
        placed = pool.submit(place)
        try:
            yield
        finally:
            stop.set()
        placed.result()


def test_orders_placed_all_through_a_rebuild_are_none_missing(saga: Saga) -> None:
    with placing(saga):
        report = orderctl_json("replay", "--shadow")
        behind = len(saga.orders)
        back = orderctl_json("replay", "--rollback")
    assert report["swapped"] and report["differing"] == 0
    assert back["generation"]["number"] == report["was"]["number"]
    assert len(saga.orders) > behind > 0
    for order_id in saga.orders:
        assert saga.ended(order_id) == "confirmed"
    saga.verify()


def effects(saga: Saga, order_id: str) -> dict[str, Any]:
    """All that an order has done outside the read model."""
    written = {
        f"{service} {table}": saga.db.count(service, table, **{column: order_id})
        for service in EMITTERS
        for table, column in (("outbox", "aggregate_id"), ("jobs", "key"), ("inbox", "key"))
    }
    return written | {
        "mails": len(saga.mails(order_id)),
        "requests": len(saga.requests(order_id)),
        "ledger": saga.ledger(order_id),
    }


def test_a_replay_has_no_side_effects(saga: Saga) -> None:
    """Mails, charges, jobs, inbox and outbox rows: as many after replays as before."""
    confirmed, declined, cancelled = (
        saga.place(token=token) for token in ("tok_ok", "tok_declined", "tok_slow_2000")
    )
    saga.charging(cancelled)
    saga.cancelled(cancelled)
    assert saga.ended(confirmed) == "confirmed"
    assert saga.ended(declined) == "cancelled:payment_declined"
    assert saga.ended(cancelled) == "cancelled:customer_request"
    saga.verify()
    before = {order_id: effects(saga, order_id) for order_id in saga.orders}
    assert before[confirmed]["mails"] == 1 and before[confirmed]["ledger"]["capture"]
    timelines = {order_id: saga.timeline(order_id) for order_id in saga.orders}

    def figures() -> list[dict[str, Any]]:
        query = "SELECT * FROM order_figures WHERE key = ANY(:keys) ORDER BY key"
        return saga.db.rows("analytics", query, keys=saga.orders)

    told = figures()
    assert len(told) == 3
    # Events that other tests forged, and gave up as letters, are not in the live figures.
    figures_anew = ("--shadow", "--model", "analytics", "--accept-differences")
    for options in (
        ("--topic", "order.events", "--from-beginning"),
        ("--shadow",),
        figures_anew,
    ):
        done = orderctl("replay", *options)
        assert done.returncode == 0, done.stdout + done.stderr
        saga.verify()
        assert figures() == told
        assert {order_id: effects(saga, order_id) for order_id in saga.orders} == before
        assert {order_id: saga.timeline(order_id) for order_id in saga.orders} == timelines
