"""The agent on a real broker and database: what it writes, and what it survives."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from services.projector.replay import FromBeginning
from services.projector.stored import stored_offsets
from tests.integration.projector.rig import Rig, Row, wait_for
from tests.integration.projector.traffic import Told, many, story, told
from tests.live_stack import Ground
from tests.unit.projector.stories import CONFIRMED, LINES, REFUND_IN_TROUBLE, STORIES

ENDINGS = {
    "confirmed": "confirmed",
    "declined": "cancelled",
    "out_of_stock": "cancelled",
    "refund_in_trouble": "cancelled",
}


def view(rig: Rig, order_id: UUID) -> dict[str, Any]:
    ((found,),) = rig.rows("SELECT to_jsonb(v) FROM order_view v WHERE order_id = :o", o=order_id)
    return dict(found)


def timeline(rig: Rig, order_id: UUID) -> list[str]:
    query = 'SELECT event_type FROM order_timeline WHERE order_id = :o ORDER BY time, "offset"'
    return [event_type for (event_type,) in rig.rows(query, o=order_id)]


def read(rig: Rig) -> int:
    """How many records the agent has read and written."""
    return sum(stored_offsets(rig.engine).values())


def test_an_order_arrives_with_its_timeline(rig: Rig) -> None:
    order_id = uuid4()
    rig.produce(story(REFUND_IN_TROUBLE, order_id))
    rig.caught_up()
    found = view(rig, order_id)
    assert (found["status"], found["reason"]) == ("cancelled", "customer_request")
    assert (found["captured"], found["refunded"], found["lines"]) == (1500, 1500, LINES)
    assert sorted(timeline(rig, order_id)) == sorted(step[0] for step in REFUND_IN_TROUBLE)


@pytest.mark.parametrize("first", ["OrderPlaced", "OrderConfirmed"])
def test_c55_older_event_overwrites_newer_state(rig: Rig, first: str) -> None:
    """OrderPlaced again under a fresh id after the ending; also the ending before it ever came."""
    order_id = uuid4()
    placed, confirmed = (step for step in CONFIRMED if step[0].startswith("Order"))
    now = datetime.now(UTC)
    steps = [placed, confirmed, placed] if first == "OrderPlaced" else [confirmed, placed]
    rig.produce([told(step, order_id, now) for step in steps])
    rig.caught_up()
    found = view(rig, order_id)
    assert (found["status"], found["order_sequence"]) == ("confirmed", 2)
    assert (found["customer_id"], found["lines"]) == ("c-1", LINES)
    assert len(timeline(rig, order_id)) == len(steps)


def test_c06_compensation_arrives_before_the_action(rig: Rig) -> None:
    """OrderCancelled for an order nobody knows yet, then its OrderPlaced."""
    order_id = uuid4()
    steps = {step[0]: step for step in REFUND_IN_TROUBLE if step[1] <= 2}
    now = datetime.now(UTC)
    rig.produce([told(steps["OrderCancelled"], order_id, now)])
    rig.caught_up()
    assert view(rig, order_id)["lines"] is None
    rig.produce([told(steps["OrderPlaced"], order_id, now)])
    rig.caught_up()
    found = view(rig, order_id)
    assert (found["status"], found["reason"]) == ("cancelled", "customer_request")
    assert (found["lines"], found["order_sequence"]) == (LINES, 2)


def test_a_repeat_of_the_same_message_changes_nothing(rig: Rig) -> None:
    order_id = uuid4()
    events = story(CONFIRMED, order_id)
    rig.produce(events)
    rig.caught_up()
    before = rig.everything()
    rig.produce(reversed(events))
    rig.caught_up()
    assert rig.everything() == before


def test_what_cannot_be_projected_is_put_aside_and_the_rest_goes_on(rig: Rig) -> None:
    good, bad = uuid4(), uuid4()
    (event,) = story(CONFIRMED[:1], bad)
    poison_name = {**CONFIRMED[0][2], "customer_id": "nul\x00"}
    broken = [
        replace(event, value=b"no avro"),
        replace(event, headers=[]),
        told(("OrderPlaced", 1, poison_name), bad, datetime.now(UTC)),
    ]
    rig.produce([*broken, *story(CONFIRMED, good)])
    rig.caught_up()
    assert view(rig, good)["status"] == "confirmed"
    assert rig.rows("SELECT 1 FROM order_view WHERE order_id = :o", o=bad) == []
    reasons = Counter(reason for (reason,) in rig.rows("SELECT reason FROM dead_letters"))
    assert reasons == {"not_avro": 1, "envelope": 1, "refused": 1}


def test_a_database_that_is_away_costs_nothing(rig: Rig, ground: Ground) -> None:
    order_id = uuid4()
    with ground.admin() as admin:
        _shut(admin, rig.group)
        rig.produce(story(CONFIRMED, order_id))
        wait_for(lambda: b"infrastructure away" in rig.log.read_bytes(), 30, "the agent to notice")
        admin.execute(f"ALTER DATABASE {rig.group} ALLOW_CONNECTIONS true")
    rig.engine.dispose()
    rig.caught_up()
    assert view(rig, order_id)["status"] == "confirmed"


def _shut(admin: psycopg.Connection, database: str) -> None:
    admin.execute(f"ALTER DATABASE {database} ALLOW_CONNECTIONS false")
    admin.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [database]
    )


@pytest.mark.parametrize(
    ("count", "kills"), [(300, 2), pytest.param(1000, 5, marks=pytest.mark.long)]
)
def test_c56_counts_lost_at_kill_9(rig: Rig, count: int, kills: int) -> None:
    """Kills while orders arrive; then the figures, and a rebuild from offset 0."""
    rig.change("TRUNCATE order_view, order_search, order_timeline, dead_letters")
    names = sorted(STORIES)
    orders = {uuid4(): names[number % len(names)] for number in range(count)}
    events: list[Told] = [
        event for order_id, name in orders.items() for event in story(STORIES[name], order_id)
    ]
    part = len(events) // kills + 1
    for number in range(kills):
        so_far = read(rig)
        rig.produce(events[number * part : (number + 1) * part])
        wait_for(lambda: read(rig) > so_far, 30, "the agent to be in the middle of it")  # noqa: B023
        rig.kill()
        rig.start()
    rig.caught_up()

    wanted = Counter(ENDINGS[name] for name in orders.values())
    figures = (
        "SELECT status, count(*), sum(total) FROM order_view WHERE order_id = ANY(:o) GROUP BY 1"
    )
    found = rig.rows(figures, o=list(orders))
    assert sorted(found) == sorted((s, n, 1500 * n) for s, n in wanted.items())
    assert rig.rows(
        "SELECT count(*) FROM order_timeline WHERE order_id = ANY(:o)", o=list(orders)
    ) == [(len(events),)]

    before = [_chosen(rows, orders) for rows in rig.everything()]
    rig.change("TRUNCATE order_view, order_search, order_timeline")
    replayer = rig.replayer()
    replayer.run(replayer.plan(rig.topics, FromBeginning()), lambda _: None)
    assert [_chosen(rows, orders) for rows in rig.everything()] == before
    report = rig.rebuilder().rebuild()
    assert report.swapped and report.comparison.differing == 0
    rig.rebuilder().drop()


def _chosen(rows: list[Row], orders: Iterable[UUID]) -> list[Row]:
    wanted = {str(order_id) for order_id in orders}
    return [row for row in rows if row[0][1:37] in wanted]


def test_c58_recovery_ends_whatever_was_left(rig: Rig, tmp_path: Path) -> None:
    """Away for so long that the broker forgot its offsets, and started where no file is left."""
    rig.produce(many(50))
    rig.caught_up()
    rig.end()
    rig.forget_offsets()
    rig.produce(many(50, seed=2))
    rig.start(tmp_path)  # fails where it takes longer than READY_WITHIN
    rig.caught_up()
    assert list(tmp_path.iterdir()) == []
    report = rig.rebuilder().rebuild()
    assert report.swapped and report.comparison.differing == 0
    assert report.comparison.rows["order_view"][0] >= 100
    rig.rebuilder().drop()


def test_it_ends_in_time_and_is_ready_in_time(rig: Rig) -> None:
    code, seconds = rig.end()
    assert (code, seconds < 10) == (0, True)
    rig.start()  # fails where it takes longer than READY_WITHIN
