"""Staged incidents: something really breaks, the real rules raise its alert alone, and it clears.

Prometheus is real, the metrics are scraped from the running processes; only durations are a tenth.
What would pass unseen without: a rule that reads a metric nobody sets, an incident that raises
nothing, and one that wakes people with five alerts.
"""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from infra.names import database
from tests.live_stack import LiveStack
from tests.saga.support.faults import Faults
from tests.saga.support.orderctl import orderctl_json
from tests.saga.support.prometheus import Prometheus, accelerated, running
from tests.saga.support.saga import Saga
from tests.saga.support.wait import until

POISONED = ("inventory", "analytics", "projector-agent")
"""Who reads OrderPlaced."""


@pytest.fixture(scope="module")
def prometheus(stack: LiveStack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    with running(stack, tmp_path_factory.mktemp("prometheus")) as found:
        yield found


def ailing() -> set[str]:
    """The checks of orderctl doctor that found something."""
    return {finding["check"] for finding in orderctl_json("doctor") if not finding["well"]}


def test_only_durations_are_changed() -> None:
    rule = "expr: rate(a[5m]) > 5\n        for: 1m\n"
    assert accelerated(rule) == "expr: rate(a[30s]) > 5\n        for: 6s\n"


def test_a_stopped_connector(saga: Saga, faults: Faults, prometheus: Prometheus) -> None:
    incident = ("ConnectorDown", "outbox-order")
    with prometheus.raising(incident):
        with faults.held_back("order"):
            order_id = saga.place()
            prometheus.wait_for(incident)
            assert "relays" in ailing()
        assert saga.ended(order_id) == "confirmed"


def test_a_poison_event(saga: Saga, prometheus: Prometheus) -> None:
    incident = [("DeadLetters", process) for process in POISONED]
    with prometheus.raising(*incident):
        place = saga.topics.produce_bytes("OrderPlaced", str(uuid4()), b"no Avro at all")
        prometheus.wait_for(*incident)
        assert ailing() == {"letters"}
        saga.discard(place.message_id)


@pytest.mark.long
def test_a_stopped_consumer(saga: Saga, faults: Faults, prometheus: Prometheus) -> None:
    incident = ("NobodyReads", "email")
    body = saga.body()
    with prometheus.raising(incident):
        with faults.stopped("email"):
            order_id = str(saga.post(body).json()["order_id"])
            prometheus.wait_for(incident)
            assert ailing() >= {"processes", "broker"}
        saga.wait_for(order_id, "EmailSent")


@pytest.mark.long
def test_a_provider_that_is_down(saga: Saga, faults: Faults, prometheus: Prometheus) -> None:
    incident = ("BreakerOpen", "payment_provider")
    with prometheus.raising(incident):
        with faults.stopped("payment-provider"):
            orders = [saga.place() for _ in range(8)]
            prometheus.wait_for(incident)
        assert {saga.ended(order_id, 90) for order_id in orders} == {"confirmed"}


@pytest.mark.long
def test_a_slow_handler(saga: Saga, stack: LiveStack, prometheus: Prometheus) -> None:
    incident = ("HandlerSlow", "email")
    with prometheus.raising(incident):
        for _ in range(2):
            with stack.admin(database("email")) as admin, admin.transaction():
                admin.execute("LOCK TABLE inbox IN ACCESS EXCLUSIVE MODE")
                order_id = saga.place()
                assert saga.ended(order_id) == "confirmed"
                # Nothing tells of a handler that waits: only time passes while the lock is held.
                admin.execute("SELECT pg_sleep(7)")
            saga.wait_for(order_id, "EmailSent")
        prometheus.wait_for(incident)


@pytest.mark.long
def test_a_dead_projector(saga: Saga, faults: Faults, prometheus: Prometheus) -> None:
    incident = ("NobodyReads", "projector")
    with prometheus.raising(incident):
        with faults.stopped("projector-agent"):
            order_id = saga.place()
            assert saga.ended(order_id) == "confirmed"
            prometheus.wait_for(incident)
        until(lambda: saga.shop.view(order_id), "the order in the read model")
