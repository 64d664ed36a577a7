"""A rebuild while everything goes on: killed at any point, read all through, fed all through."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from fastapi.testclient import TestClient

from services.eventkit.rebuild.rebuilder import Progress
from services.projector.api import create_read_api
from services.projector.lag import LagMeter
from tests.integration.projector.rig import Rig, wait_for
from tests.integration.projector.test_agent import view
from tests.integration.projector.traffic import Told, many, story, told
from tests.unit.projector.stories import CONFIRMED, LINES, REFUND_IN_TROUBLE

ORDERS = 300
POLL = 0.02


@pytest.fixture(scope="module")
def filled(rig: Rig) -> Iterator[Rig]:
    """A rig with orders of every kind."""
    rig.produce(many(ORDERS))
    rig.caught_up()
    yield rig


@pytest.fixture(autouse=True)
def none_left(filled: Rig) -> Iterator[None]:
    """Nothing but the current generation is there when a test ends."""
    yield
    filled.rebuilder().drop()


def begin(rig: Rig, last_step: str = "") -> "subprocess.Popen[bytes]":
    """A rebuild in a process of its own."""
    where = (rig.url, rig.bootstrap, rig.environment["SAGA_REGISTRY_URL"], ",".join(rig.topics))
    command = [sys.executable, "-m", "tests.integration.projector.rebuild_process", *where]
    return subprocess.Popen([*command, *filter(None, [last_step])], stderr=subprocess.DEVNULL)


def copied(rig: Rig) -> float:
    """How much of its first pass the generation that is being built has done: 0 to 1."""
    building = rig.rows("SELECT generation FROM generations WHERE status IN ('copying', 'ready')")
    if not building:
        return 0.0
    ((number,),) = building
    ((share,),) = rig.rows(
        "SELECT sum(next_offset - first_offset)::float / sum(target_offset - first_offset)"
        f" FROM generation_{number}.generation_offsets"
    )
    return float(share)


def resumed(rig: Rig) -> tuple[int, int]:
    """Rebuilds; returns how much was done when it began, and of how much."""
    steps: list[Progress] = []
    assert rig.rebuilder(progress=steps.append).rebuild().swapped
    first = next((step for step in steps if step.step == "copying"), None)
    return (first.done, first.total) if first else (1, 1)


@pytest.mark.parametrize(
    "share",
    [
        pytest.param(0.1, marks=pytest.mark.long),
        0.5,
        pytest.param(0.9, marks=pytest.mark.long),
    ],
)
def test_killed_in_the_first_pass_it_goes_on_from_there(filled: Rig, share: float) -> None:
    """Only the parent is killed: its processes have to end by themselves, or be ended."""
    before = filled.everything()
    process = begin(filled)
    until = time.monotonic() + 60
    while copied(filled) < share:
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.002)
    process.kill()
    process.wait()
    assert filled.everything() == before
    done, total = resumed(filled)
    assert share * 0.9 <= done / total <= 1  # a chunk may have been under way
    assert filled.everything() == before


@pytest.mark.long
@pytest.mark.parametrize("step", ["copying", "indexing", "comparing"])
def test_killed_where_a_step_begins_it_ends_identical(filled: Rig, step: str) -> None:
    before = filled.everything()
    assert begin(filled, step).wait(60) == -9
    assert filled.everything() == before
    resumed(filled)
    assert filled.everything() == before


def test_what_a_killed_rebuild_left_can_be_removed(filled: Rig) -> None:
    before = filled.everything()
    process = begin(filled)
    wait_for(lambda: copied(filled) > 0, 60, "the rebuild to be under way")
    process.kill()
    process.wait()
    assert [one.status for one in filled.rebuilder().drop()] == ["copying"]
    assert filled.rows("SELECT 1 FROM pg_namespace WHERE nspname LIKE 'generation_%'") == []
    assert filled.everything() == before


@contextmanager
def reading(rig: Rig, orders: dict[UUID, int]) -> Iterator[list[str]]:
    """Polls the read API every 20 ms; gives the list of what was wrong with an answer."""
    wrong: list[str] = []
    stop = threading.Event()
    answers = 0

    def poll(client: TestClient) -> None:
        nonlocal answers
        keys = sorted(orders)
        while not stop.wait(POLL):
            listed = client.get("/orders", params={"limit": 500})
            number = len(listed.json().get("orders", ()))
            if listed.status_code != 200 or number < len(orders):
                wrong.append(f"{listed.status_code}: {number} orders")
            key = keys[answers % len(keys)]
            one = client.get(f"/orders/{key}")
            events = len(one.json().get("timeline", ()))
            if one.status_code != 200 or events != orders[key]:
                wrong.append(f"{one.status_code}: {events} events instead of {orders[key]}")
            answers += 1

    meter = LagMeter(rig.engine, rig.bootstrap, rig.topics)
    with (
        TestClient(create_read_api(rig.engine, meter)) as client,
        ThreadPoolExecutor(1) as pool,
    ):
        polling = pool.submit(poll, client)
        try:
            yield wrong
        finally:
            stop.set()
            polling.result()
    assert answers > 10


def test_readers_never_see_a_partial_view(filled: Rig) -> None:
    """Through a rebuild with its swap, and through swaps back and forth."""
    rows = filled.rows("SELECT order_id, count(*) FROM order_timeline GROUP BY 1")
    assert len(rows) <= 500
    with reading(filled, dict(rows)) as wrong:
        assert filled.rebuilder().rebuild().swapped
        for _ in range(5):
            assert filled.rebuilder().rollback().swapped
    assert wrong == []


def test_orders_that_come_all_through_a_rebuild_are_all_there(filled: Rig) -> None:
    placed: list[Told] = []
    stop = threading.Event()

    def place() -> None:
        while not stop.wait(0.01):
            events = many(2, seed=len(placed))
            filled.produce(events)
            placed.extend(events)

    with ThreadPoolExecutor(1) as pool:
        placing = pool.submit(place)
        try:
            wait_for(lambda: len(placed) > 100, 60, "orders to come")
            before = len(placed)
            report = filled.rebuilder().rebuild()
            after = len(placed)
        finally:
            stop.set()
        placing.result()
    assert report.swapped and report.comparison.differing == 0 and after > before
    filled.caught_up()
    ((there,),) = filled.rows(
        "SELECT count(*) FROM order_timeline WHERE message_id::text = ANY(:ids)",
        ids=[dict(event.headers)["ce_id"].decode() for event in placed],
    )
    assert there == len(placed)
    assert filled.rebuilder().rebuild().comparison.differing == 0


def test_c55_older_event_overwrites_newer_state(filled: Rig) -> None:
    """On both sides of a rebuild: the ending before the placement, and the placement once more."""
    order_id = uuid4()
    placed, confirmed = (step for step in CONFIRMED if step[0].startswith("Order"))
    now = datetime.now(UTC)
    filled.produce([told(confirmed, order_id, now), told(placed, order_id, now)])
    filled.caught_up()
    assert filled.rebuilder().rebuild().comparison.differing == 0
    for _ in range(2):
        found = view(filled, order_id)
        assert (found["status"], found["order_sequence"]) == ("confirmed", 2)
        assert (found["customer_id"], found["lines"]) == ("c-1", LINES)
        filled.produce([told(placed, order_id, now)])
        filled.caught_up()


def test_c10_late_paid_changes_nothing(filled: Rig) -> None:
    """PaymentCaptured after the refund, under its own and a new id: read live, and rebuilt."""
    order_id = uuid4()
    events = story(REFUND_IN_TROUBLE, order_id)
    (captured,) = [event for event in events if ("ce_type", b"PaymentCaptured") in event.headers]
    (step,) = [step for step in REFUND_IN_TROUBLE if step[0] == "PaymentCaptured"]
    filled.produce(events)
    filled.caught_up()
    before = view(filled, order_id)
    assert (before["status"], before["payment_status"]) == ("cancelled", "refunded")
    began = datetime.fromisoformat(before["began_at"])
    filled.produce([captured, told(step, order_id, began)])
    filled.caught_up()
    assert view(filled, order_id) == before
    assert filled.rebuilder().rebuild().comparison.differing == 0
    assert view(filled, order_id) == before
    filled.produce([captured, told(step, order_id, began)])
    filled.caught_up()
    assert view(filled, order_id) == before


def test_c58_recovery_never_finishes(filled: Rig) -> None:
    """The agent keeps nothing of its own: after a stop it is ready in time, and as if rebuilt."""
    filled.kill()
    filled.produce(many(200, seed=58))
    filled.start()  # fails where it takes longer than READY_WITHIN
    filled.caught_up()
    assert filled.rebuilder().rebuild().comparison.differing == 0
