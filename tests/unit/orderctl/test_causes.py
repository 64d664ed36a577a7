"""Why an order waits, from facts alone: the nearest cause is named, with what helps."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from services.eventkit.relay import INACTIVE, STREAMING, Relay
from services.orderctl.groups import Group, Lag
from services.orderctl.murmur2 import partition_of
from services.orderctl.relays import Status
from services.orderctl.stuck.causes import Cause, Surroundings, causes
from services.orderctl.stuck.facts import Facts, Job, PutAside, Written, readers
from services.orderctl.stuck.waiting import WaitingOrder

NOW = datetime(2026, 1, 31, 9, 15, tzinfo=UTC)
KEY = "0b54b3a4-6d0e-4b0a-9f3e-1d2c3b4a5f60"
LATER, EARLIER = NOW + timedelta(minutes=5), NOW - timedelta(minutes=5)
PLACED = Written("order", "m1", "OrderPlaced", "order.events", waits=False)


def order(step: str = "stock") -> WaitingOrder:
    return WaitingOrder(KEY, step, EARLIER, LATER)


def deadline(status: str = "pending", run_at: datetime = LATER) -> Job:
    return Job("order", "j0", "payment_deadline", status, 0, run_at, None)


def found(facts: Facts, step: str = "stock", **around: Any) -> list[Cause]:
    return causes(order(step), facts, Surroundings(**around), NOW)


def kinds(facts: Facts, step: str = "stock", **around: Any) -> list[str]:
    return [cause.kind for cause in found(facts, step, **around)]


def unseen(**over: Any) -> Facts:
    written = Written(**{name: getattr(PLACED, name) for name in PLACED.__slots__} | over)
    return Facts(KEY, [written], {"inventory": set()}, jobs=[deadline()])


def status(state: str, connector: str = "running") -> Status:
    return Status("order", connector, "", Relay("outbox_order", state))


def group(members: int = 1, behind: int = 0) -> Group:
    own = partition_of(KEY.encode(), 6)
    lags = [Lag("inventory", "order.events", p, 0, behind if p == own else 99) for p in range(6)]
    return Group("inventory", members, tuple(lags))


def test_an_event_that_was_taken_in_is_no_cause() -> None:
    facts = Facts(KEY, [PLACED], {"inventory": {"m1"}}, jobs=[deadline()])
    assert kinds(facts) == ["deadline"]


def test_an_event_that_is_not_published_names_the_relay() -> None:
    cause, _ = found(unseen(waits=True), relays={"order": status(INACTIVE, "paused")})
    assert (cause.kind, cause.service) == ("unpublished", "order")
    assert "slot inactive, connector paused" in cause.text and "resume" in cause.remedy


def test_a_published_event_that_nobody_reads() -> None:
    relays, groups = {"order": status(STREAMING)}, {"inventory": group(members=0)}
    assert kinds(unseen(), relays=relays, groups=groups) == ["no_reader", "deadline"]


def test_a_reader_that_is_behind_on_the_partition_of_the_order() -> None:
    cause, _ = found(unseen(), groups={"inventory": group(behind=7)})
    assert cause.kind == "lag" and "7 events behind" in cause.text


def test_an_event_that_was_passed_and_never_arrived_is_lost() -> None:
    cause, _ = found(unseen(), groups={"inventory": group()})
    assert cause.kind == "lost_event"
    assert cause.remedy == f"orderctl reemit --service order --order {KEY}"


def test_nothing_is_called_lost_while_the_broker_is_away() -> None:
    cause, _ = found(unseen(), groups=None)
    assert cause.kind == "broker_away"
    assert "the broker does not answer" in cause.text and "reemit" not in cause.remedy


@pytest.mark.parametrize("groups", [{}, {"inventory": Group("inventory", 1, ())}])
def test_nothing_is_called_lost_where_nobody_knows_how_far_was_read(groups: Any) -> None:
    assert kinds(unseen(), groups=groups) == ["unknown", "deadline"]


def test_letters_come_first_and_say_why() -> None:
    dead = PutAside("payment", "m2", "StockReserved", "dead", "rule", "ValueError: no\nmore")
    parked = PutAside("payment", "m3", "OrderCancelled", "parked", "parked", "")
    first, second, _ = found(Facts(KEY, letters=[dead, parked], jobs=[deadline()]))
    assert first.text == "StockReserved is a dead letter (rule: ValueError: no)"
    assert [first.kind, second.kind] == ["dead_letter", "parked"]
    assert first.remedy == f"orderctl dlq redrive --order {KEY}"


def test_a_job_that_is_tried_again_names_its_error_and_the_open_breaker() -> None:
    charge = Job("payment", "j1", "charge", "pending", 4, LATER, "timed out")
    cause, _ = found(
        Facts(KEY, jobs=[charge, deadline()]),
        "payment",
        open_breakers={"payment": ("payment_provider",)},
    )
    assert cause.kind == "job" and "attempt 4" in cause.text and "timed out" in cause.text
    assert "payment_provider is left alone" in cause.text


def test_a_dead_job_names_the_command_that_starts_it_over() -> None:
    dead = Job("payment", "j1", "refund", "dead", 8, EARLIER, "503")
    (cause,) = found(Facts(KEY, jobs=[dead]), "refund")
    assert (cause.kind, cause.remedy) == ("dead_job", "orderctl jobs redrive j1")


def test_a_deadline_that_is_over_missing_or_dead() -> None:
    assert kinds(Facts(KEY, jobs=[deadline(run_at=EARLIER)])) == ["deadline_overdue"]
    assert kinds(Facts(KEY)) == ["no_deadline"]
    assert kinds(Facts(KEY, jobs=[deadline("dead")])) == ["dead_job"]


def test_an_undo_has_no_deadline_and_says_that_nothing_was_found() -> None:
    assert kinds(Facts(KEY), "release") == ["unknown"]


def test_readers_are_those_whose_handler_table_names_the_event() -> None:
    services = ("order", "inventory", "payment", "email", "analytics", "projector")
    assert readers("OrderPlaced", services) == ["inventory", "analytics", "projector"]
    assert readers("StockReserved", ("order", "inventory", "payment")) == ["order", "payment"]
