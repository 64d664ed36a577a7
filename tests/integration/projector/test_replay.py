"""Replay in place: it brings back what is missing, and refuses what it cannot do."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from time import time
from uuid import uuid4

import pytest

from services.projector import control, group
from services.projector.replay import (
    FromBeginning,
    FromOffset,
    FromOffsets,
    FromTime,
    Progress,
    Replayer,
    ReplayFailed,
    ReplayRefused,
    Start,
)
from tests.integration.projector.rig import Rig, wait_for
from tests.integration.projector.traffic import many, story
from tests.unit.projector.stories import CONFIRMED

ORDERS = 100


@pytest.fixture(scope="module")
def filled(rig: Rig) -> Iterator[Rig]:
    """A rig whose read model has orders of every kind."""
    rig.produce(many(ORDERS))
    rig.caught_up()
    yield rig


def orders(rig: Rig) -> str:
    return f"{rig.group}.order.events"


def lose(rig: Rig, *tables: str) -> None:
    """Deletes the rows of 20 orders."""
    chosen = [row[0] for row in rig.rows("SELECT order_id FROM order_view ORDER BY 1 LIMIT 20")]
    for table in tables:
        assert rig.change(f"DELETE FROM {table} WHERE order_id = ANY(:o)", o=chosen) >= 20


def test_lost_views_come_back_row_for_row(filled: Rig) -> None:
    """One topic is enough: what the others told is still on the timelines."""
    before = filled.everything()
    lose(filled, "order_view")
    seen: list[Progress] = []
    replayer = filled.replayer()
    plan = replayer.plan([orders(filled)], FromBeginning())
    replayer.run(plan, seen.append)
    assert filled.everything() == before
    assert list(dict.fromkeys(progress.step for progress in seen)) == [
        "pausing",
        "moving",
        "replaying",
        "done",
    ]
    assert seen[-1].done == seen[-1].total == plan.records


def test_lost_search_rows_come_back_with_the_next_event(filled: Rig) -> None:
    before = filled.everything()
    lose(filled, "order_search")
    replayer = filled.replayer()
    replayer.run(replayer.plan([orders(filled)], FromBeginning()), lambda _: None)
    assert filled.everything() == before


@pytest.mark.parametrize(
    ("topic", "start"),
    [
        ("order.events", FromBeginning()),
        ("order.events", FromOffset(40)),
        ("payment.events", FromBeginning()),
        ("email.events", FromBeginning()),
    ],
)
def test_lost_orders_come_back_row_for_row(filled: Rig, topic: str, start: Start) -> None:
    """A part of one topic is named; for the orders that are lost as a whole all topics are read."""
    before = filled.everything()
    lose(filled, "order_view", "order_search", "order_timeline")
    replayer = filled.replayer()
    plan = replayer.plan([f"{filled.group}.{topic}"], start)
    assert plan.lost_orders == 20
    replayer.run(plan, lambda _: None)
    assert filled.everything() == before


def test_where_no_order_is_lost_only_the_named_topic_is_read(filled: Rig) -> None:
    plan = filled.replayer().plan([orders(filled)], FromBeginning())
    assert plan.lost_orders == 0
    assert {part.bounds.topic for part in plan.partitions} == {orders(filled)}


def test_a_replay_from_an_offset_reads_what_is_behind_it(filled: Rig) -> None:
    plan = filled.replayer().plan([orders(filled)], FromOffset(5))
    assert {part.start for part in plan.moved} == {5}
    assert plan.records == sum(part.bounds.log_end - 5 for part in plan.moved)


def test_a_replay_from_a_time_reads_what_was_written_since(filled: Rig) -> None:
    before = datetime.now(UTC)
    filled.produce(story(CONFIRMED, uuid4()))
    filled.caught_up()
    plan = filled.replayer().plan([orders(filled)], FromTime(int(before.timestamp() * 1000)))
    assert (len(plan.moved), plan.records) == (1, 2)  # placed and confirmed
    with pytest.raises(ReplayRefused, match="nothing to read again"):
        filled.replayer().plan([orders(filled)], FromTime(int(time() * 1000) + 60_000))


def test_a_replay_of_one_partition_leaves_the_others(filled: Rig) -> None:
    plan = filled.replayer().plan([orders(filled)], FromOffsets({1: 3}))
    assert [(part.bounds.partition, part.start) for part in plan.moved] == [(1, 3)]


def test_an_offset_behind_the_end_is_refused(filled: Rig) -> None:
    with pytest.raises(ReplayRefused, match="nothing to read again"):
        filled.replayer().plan([orders(filled)], FromOffset(1_000_000))


def test_two_replays_at_once_are_refused(filled: Rig) -> None:
    assert control.take(filled.engine, "another", timedelta(seconds=30))
    try:
        replayer = filled.replayer()
        plan = replayer.plan([orders(filled)], FromBeginning())
        with pytest.raises(ReplayRefused, match="another replay is running"):
            replayer.run(plan, lambda _: None)
    finally:
        control.release(filled.engine, "another")
    _projects_again(filled)


def test_a_group_that_is_not_left_is_not_moved(filled: Rig) -> None:
    """The broker refuses partition by partition, without failing the call: each is looked at."""
    refused = group.move(
        filled.admin, filled.group, {(orders(filled), 0): 0, (orders(filled), 1): 0}
    )
    assert set(refused) == {(orders(filled), 0), (orders(filled), 1)}
    hasty = Replayer(filled.engine, filled.bootstrap, name=filled.group, leave_within=0)
    plan = hasty.plan([orders(filled)], FromBeginning())
    with pytest.raises(ReplayFailed, match="was not left within 0 s"):
        hasty.run(plan, lambda _: None)
    _projects_again(filled)


def test_a_replay_that_died_stops_the_projector_for_its_lease_only(filled: Rig) -> None:
    assert control.take(filled.engine, "a replay that died", timedelta(seconds=5))
    wait_for(lambda: not group.members(filled.admin, filled.group), 20, "the agent to leave")
    _projects_again(filled)


def _projects_again(rig: Rig) -> None:
    order_id = uuid4()
    rig.produce(story(CONFIRMED, order_id))
    rig.caught_up()
    found = rig.rows("SELECT status FROM order_view WHERE order_id = :o", o=order_id)
    assert found == [("confirmed",)]
