"""Cases from the field: what a service stands on is away, and no event is passed over."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import pytest

from services.orderctl.groups import GROUPS
from tests.live_stack import LiveStack
from tests.saga.support.faults import Faults
from tests.saga.support.groups import caught_up, forget, groups
from tests.saga.support.instance import instance
from tests.saga.support.saga import Saga
from tests.saga.support.topics import Read
from tests.saga.support.wait import until

GROUP = "payment"
RECOVERED_WITHIN = 90.0
"""Seconds in which everybody reads again by itself, on a machine that is busy besides."""


@pytest.mark.parametrize("attempts", [4, pytest.param(7, marks=pytest.mark.long)])
def test_c33_a_later_commit_covers_no_earlier_failure(
    saga: Saga, stack: LiveStack, faults: Faults, attempts: int
) -> None:
    with saga.ordering():
        saga.more_orders(3)
        log = len(stack.log(GROUP))
        with faults.database_closed(GROUP):
            reserved = [saga.topics.one(one, "StockReserved") for one in saga.more_orders(3)]
            # The batch is tried again and again while later events arrive behind it.
            until(lambda: attempts in _attempts(stack, log), "the batch to be tried again", 60)
            reserved += [saga.topics.one(one, "StockReserved") for one in saga.more_orders(3)]
            assert not set(_positions(saga, reserved)) & {"passed"}
        saga.more_orders(3)
    for order_id in saga.orders:
        assert saga.ended(order_id, RECOVERED_WITHIN) == "confirmed"
    until(lambda: set(_positions(saga, reserved)) == {"passed"}, "the offsets to be committed")
    assert {_taken_in(saga, read) for read in reserved} == {"done"}
    for order_id in saga.orders:
        assert saga.db.count(GROUP, "dead_letters", key=order_id) == 0
    saga.verify()


def test_c36_a_group_that_joins_for_the_first_time_begins_at_the_beginning(
    saga: Saga, stack: LiveStack, faults: Faults
) -> None:
    late = (GROUP, "projector")
    with ExitStack() as started:
        with faults.stopped(GROUP, "projector-agent"):
            orders = [saga.place() for _ in range(5)]
            for order_id in orders:
                saga.wait_for(order_id, "StockReserved")
            forget(saga.settings, *late)
            # One more member comes and goes: partitions move, some before anything was committed.
            another = started.enter_context(instance(stack, GROUP))
        another.wait_ready()
        with saga.ordering():
            saga.more_orders(2)
            another.terminate()
            assert another.ended()[0] == 0
            saga.more_orders(2)
    for order_id in saga.orders:
        assert saga.ended(order_id) == "confirmed"
    until(lambda: caught_up(saga.settings, *late), "both groups to have read everything")
    saga.verify()


@pytest.mark.timeout(420)
@pytest.mark.parametrize("seconds", [4, pytest.param(30, marks=pytest.mark.long)])
def test_c60_everybody_reads_on_after_a_broker_restart(
    saga: Saga, stack: LiveStack, faults: Faults, seconds: int
) -> None:
    with saga.ordering():
        saga.more_orders(3)
        with faults.stopped("broker"):
            threading.Event().wait(seconds)  # how long the fault lasts
            saga.more_orders(1)  # they are taken without the broker
        saga.more_orders(3)
    until(
        lambda: caught_up(saga.settings, *GROUPS),
        "every group to have read everything",
        RECOVERED_WITHIN,
    )
    for order_id in saga.orders:
        assert saga.ended(order_id, RECOVERED_WITHIN) == "confirmed"
    stack.wait_ready()
    saga.verify(seconds=90)


def test_a_table_that_is_missing_is_told_as_such_and_nothing_is_passed_over(
    saga: Saga, stack: LiveStack, faults: Faults
) -> None:
    log = len(stack.log("analytics"))
    with faults.table_missing("analytics", "order_figures"):
        order_id = saga.place()
        until(lambda: 2 in _attempts(stack, log, "analytics"), "the batch to be tried again")
        (line, *_) = _waits(stack, log, "analytics")
        assert (line["level"], line["sqlstate"]) == ("error", "42P01")
        assert line["event"] == "the database refuses a statement of ours, the batch waits"
    assert saga.ended(order_id) == "confirmed"
    saga.verify()


def _waits(stack: LiveStack, since: int, service: str = GROUP) -> Iterator[dict[str, object]]:
    """The lines in which a consumer says that its batch waits, from a place in the log on."""
    for line in stack.log(service)[since:].splitlines():
        if line.startswith("{") and "the batch waits" in line and line.endswith("}"):
            yield json.loads(line)


def _attempts(stack: LiveStack, since: int, service: str = GROUP) -> set[object]:
    return {line["attempt"] for line in _waits(stack, since, service)}


def _positions(saga: Saga, records: Sequence[Read]) -> list[str]:
    """Whether the group's committed offsets have passed each record, or are at or before it."""
    (group,) = groups(saga.settings, GROUP)
    next_offsets = {(lag.topic, lag.partition): lag.next_offset for lag in group.lags}
    return [
        "passed" if next_offsets[one.topic, one.partition] > one.offset else "before"
        for one in (read.record for read in records)
    ]


def _taken_in(saga: Saga, read: Read) -> str | None:
    query = "SELECT status FROM inbox WHERE message_id = CAST(:id AS uuid)"
    row = saga.db.row(GROUP, query, id=read.id)
    return row["status"] if row else None
