"""Orders that wait too long are named with their cause; repair re-issues what is missing."""

import re
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpx
import pytest
import sqlalchemy as sa

from infra.names import database
from services.order.settings import Budgets
from services.order.waiting import OPEN, STUCK, Count
from services.orderctl.commands.reemit import emit
from services.orderctl.recovery import new_slot
from services.orderctl.stuck import surroundings
from services.orderctl.stuck.causes import Cause, causes
from services.orderctl.stuck.facts import load
from services.orderctl.stuck.waiting import over_budget
from tests.live_stack import LiveStack
from tests.saga.support.faults import Faults
from tests.saga.support.orderctl import orderctl, orderctl_json
from tests.saga.support.refusal import refused
from tests.saga.support.saga import Saga
from tests.saga.support.slots import Slots
from tests.saga.support.wait import eventually, until


def causes_of(saga: Saga, order_id: str, budget: float = 0) -> tuple[str, dict[str, Cause]]:
    """The step an order waits for, and the causes by kind; nothing where it is not stuck."""
    settings, now = saga.settings, datetime.now(UTC)
    for order in over_budget(settings, lambda _: budget):
        if order.order_id == order_id:
            facts = load(settings, order_id, surroundings.SERVICES)
            found = causes(order, facts, surroundings.look(settings), now)
            return order.step, {cause.kind: cause for cause in found}
    return "", {}


def test_an_order_within_its_budget_is_not_stuck(saga: Saga, faults: Faults) -> None:
    with faults.stopped("payment"):
        order_id = saga.place()
        saga.wait_for(order_id, "StockReserved")
        assert causes_of(saga, order_id, budget=3600) == ("", {})
    assert saga.ended(order_id) == "confirmed"
    saga.verify()


def test_a_service_that_is_away_is_the_cause(saga: Saga, faults: Faults) -> None:
    with faults.stopped("payment"):
        order_id = saga.place()
        saga.wait_for(order_id, "StockReserved")
        until(lambda: "no_reader" in causes_of(saga, order_id)[1], "the empty group to be named")
        step, found = causes_of(saga, order_id)
        assert step == "payment"
        assert found["no_reader"].service == "payment"
        assert "its deadline will cancel it" in found["deadline"].text
        printed = orderctl("stuck", "--budget", "0")
        assert printed.returncode == 1
        assert order_id in printed.stdout and "has no member" in printed.stdout
    assert saga.ended(order_id) == "confirmed"
    assert causes_of(saga, order_id) == ("", {})
    saga.verify()


def test_a_provider_that_is_away_is_the_cause(saga: Saga, faults: Faults) -> None:
    with faults.stopped("payment-provider"):
        order_id = saga.place()

        def retried() -> bool:
            job = causes_of(saga, order_id)[1].get("job")
            return job is not None and "last error" in job.text

        until(retried, "the job to be named with its error")
        step, found = causes_of(saga, order_id)
        assert (step, found["job"].service) == ("payment", "payment")
        assert "charge" in found["job"].text
    assert saga.ended(order_id, 60) == "confirmed"
    saga.verify()


def test_a_dead_letter_is_the_cause_and_repair_redrives_it(
    saga: Saga, stack: LiveStack, faults: Faults
) -> None:
    body = saga.body()
    stack.stop("inventory")
    order_id = saga.post(body).json()["order_id"]
    with refused(stack, "inventory", order_id):
        stack.start("inventory")
        until(lambda: "dead_letter" in causes_of(saga, order_id)[1], "the letter to be named")
        step, found = causes_of(saga, order_id)
        assert (step, found["dead_letter"].service) == ("stock", "inventory")
        assert "constraint" in found["dead_letter"].text
    plan = orderctl_json("repair", order_id, "--dry-run")
    assert [(one["action"], one["service"]) for one in plan] == [("redrive", "inventory")]
    asked = orderctl("repair", order_id)
    assert asked.returncode == 2 and "--yes" in asked.stderr
    assert orderctl("repair", order_id, "--yes").returncode == 0
    assert saga.ended(order_id) == "confirmed"
    saga.verify()


@pytest.mark.timeout(420)
def test_an_event_that_was_lost_is_the_cause_and_repair_publishes_it(
    saga: Saga, slots: Slots
) -> None:
    slots.stop_reading("payment")
    slots.drop("payment")
    order_id = saga.place()
    until(lambda: saga.db.outbox("payment", order_id), "the capture in the outbox")
    new_slot(saga.settings, "payment", lambda _: None)
    until(lambda: "lost_event" in causes_of(saga, order_id)[1], "the lost event to be named")
    assert causes_of(saga, order_id)[0] == "payment"
    plan = orderctl_json("repair", order_id, "--dry-run")
    assert [(one["action"], one["service"]) for one in plan] == [("reemit", "payment")]
    # It only publishes what was written, so nobody is asked.
    assert orderctl("repair", order_id).returncode == 0
    assert saga.ended(order_id) == "confirmed"
    saga.verify()


def test_repair_asks_for_a_refused_refund_again(saga: Saga, faults: Faults) -> None:
    with faults.held_back("payment"):
        order_id = saga.place(token="tok_ok.refund_fails_1")
        saga.captured(order_id)
        saga.cancelled(order_id)
    until(lambda: saga.order(order_id)["status"] == "needs_attention", "needs_attention")
    saga.verify()  # waits until everybody has heard of it: an event not taken in would be repaired
    plan = orderctl_json("repair", order_id, "--dry-run")
    assert [one["action"] for one in plan] == ["refund"]
    assert orderctl("repair", order_id, "--yes").returncode == 0
    until(lambda: saga.order(order_id)["status"] == "cancelled", "the refund")
    assert saga.ledger(order_id) == {"capture": [1250], "refund": [1250]}
    saga.verify()


@pytest.mark.timeout(420)
def test_repair_is_harmless_where_nothing_is_missing(saga: Saga, faults: Faults) -> None:
    endings = {
        saga.place(): "confirmed",
        saga.place({saga.unheard_of(): 1}): "cancelled:out_of_stock",
        saga.place(token="tok_declined"): "cancelled:payment_declined",
        saga.place(token="tok_slow_4000", pay_within=1): "cancelled:payment_timeout",
    }
    with faults.held_back("payment"):
        refunded = saga.place()
        saga.captured(refunded)
        saga.cancelled(refunded)
    endings[refunded] = "cancelled:customer_request"
    for order_id, ending in endings.items():
        assert saga.ended(order_id, 60) == ending
    saga.verify(seconds=90)
    before = {order_id: everything(saga, order_id) for order_id in endings}

    for order_id in endings:
        done = orderctl("repair", order_id, "--yes")
        assert done.returncode == 0 and "nothing is missing" in done.stdout, done.stderr
    # The same through its heavier half: all of its events once more, from everybody.
    for service in ("order", "inventory", "payment", "email"):
        for order_id in endings:
            ids = [UUID(row["message_id"]) for row in saga.db.outbox(service, order_id)]
            assert len(emit(saga.settings, service, ids)) == len(ids)
    saga.verify(seconds=90)
    assert {order_id: everything(saga, order_id) for order_id in endings} == before


def everything(saga: Saga, order_id: str) -> dict[str, Any]:
    """All that any service and the outside know about an order, except the time of looking."""
    tables = {
        "order": ("orders", "order_id"),
        "inventory": ("reservations", "key"),
        "payment": ("payments", "key"),
        "email": ("messages", "key"),
        "analytics": ("order_figures", "key"),
    }
    found: dict[str, Any] = {}
    for service, (table, column) in tables.items():
        rows = saga.db.rows(service, f"SELECT * FROM {table} WHERE {column} = :key", key=order_id)
        found[service] = rows
        found[f"{service} outbox"] = saga.db.outbox(service, order_id)
        jobs = "SELECT job_id, kind, status, attempts FROM jobs WHERE key = :key ORDER BY job_id"
        found[f"{service} jobs"] = saga.db.rows(service, jobs, key=order_id)
    found["view"] = {name: value for name, value in saga.view(order_id).items() if name != "lag"}
    found["ledger"] = saga.ledger(order_id)
    found["mails"] = [mail["message_id"] for mail in saga.mails(order_id)]
    return found


def test_waiting_orders_are_counted_for_the_metrics(
    saga: Saga, stack: LiveStack, faults: Faults
) -> None:
    db = sa.create_engine(stack.settings.database_url("auditor", database("order")))
    with faults.stopped("payment"):
        order_id = saga.place()
        saga.wait_for(order_id, "StockReserved")
        until(lambda: saga.order(order_id)["waiting_for"]["step"] == "payment", "the step")
        Count(db, Budgets(payment_budget=3600)).look()
        assert _value(OPEN, "payment") >= 1
        in_time = _value(STUCK, "payment")
        Count(db, Budgets(payment_budget=0)).look()
        assert _value(STUCK, "payment") == _value(OPEN, "payment") > in_time

        def exported() -> None:
            assert re.search(r'saga_open_orders\{step="payment"\} [1-9]', _metrics(stack, "order"))

        eventually(exported)
    assert saga.ended(order_id) == "confirmed"
    db.dispose()


def _value(gauge: Any, step: str) -> float:
    return float(gauge.labels(step)._value.get())


def _metrics(stack: LiveStack, service: str) -> str:
    return httpx.get(f"{stack.url(service)}/metrics").text
