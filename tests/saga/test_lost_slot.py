"""A replication slot that is lost: never passed over in silence, and recovered without a hole."""

from collections import Counter

import pytest

from infra.names import connector
from services.orderctl.kafka import read_all
from tests.live_stack import LiveStack
from tests.saga.support.orderctl import orderctl, orderctl_json
from tests.saga.support.saga import Saga
from tests.saga.support.slots import Slots
from tests.saga.support.wait import until

GONE = "no longer available on the server"


def relay_of(service: str) -> dict[str, object]:
    """What orderctl knows of one relay."""
    (found,) = (one for one in orderctl_json("cdc") if one["service"] == service)
    return dict(found)


def times_on_topic(saga: Saga, topic: str) -> Counter[str]:
    """How often each message id is on a topic."""
    records = read_all(saga.settings.kafka_bootstrap, [topic])
    return Counter(record.headers["ce_id"] for record in records)


def written(saga: Saga, service: str) -> set[str]:
    """Every message id in an outbox that belongs on the service's events topic."""
    query = "SELECT message_id::text AS id FROM outbox WHERE topic = :topic"
    return {row["id"] for row in saga.db.rows(service, query, topic=f"{service}.events")}


@pytest.mark.timeout(420)
def test_a_dropped_slot_is_detected_and_recovered_without_a_hole(
    saga: Saga, stack: LiveStack, slots: Slots
) -> None:
    before = saga.place()
    assert saga.ended(before) == "confirmed"
    early = times_on_topic(saga, "order.events")
    slots.stop_reading("order")
    slots.drop("order")
    waiting = [saga.place() for _ in range(5)]
    slots.read_on("order")

    # It fails, again and again, and makes no new slot that would begin after what it missed.
    until(lambda: GONE in str(relay_of("order")["cause"]), "the task to fail for the lost slot", 60)
    restarts = stack.log("connect-guardian").count(connector("order"))
    until(
        lambda: stack.log("connect-guardian").count(connector("order")) > restarts + 1,
        "the guardian to restart it",
        60,
    )
    relay = relay_of("order")
    assert (relay["state"], relay["well"]) == ("missing", False)
    assert relay["remedy"] == "orderctl cdc recover order"
    until(lambda: "lost its place" in stack.log("order"), "the service to say so", 60)
    stuck = {order["order_id"]: order for order in orderctl_json("stuck", "--budget", "0")}
    for order_id in waiting:
        assert stuck[order_id]["step"] == "stock"
        assert stuck[order_id]["causes"][0]["kind"] == "unpublished"

    plan = orderctl_json("reemit", "--service", "order", "--missing", "--dry-run")
    assert {event["key"] for event in plan["events"]} >= set(waiting)
    done = orderctl("cdc", "recover", "order")
    assert done.returncode == 0, done.stderr
    assert [saga.ended(order_id, 90) for order_id in waiting] == ["confirmed"] * 5
    now = times_on_topic(saga, "order.events")
    assert written(saga, "order") <= now.keys()
    assert {id_: now[id_] for id_ in early} == early, "what had been published is not sent again"
    until(lambda: relay_of("order")["well"], "the relay to be well")
    saga.verify([before, *waiting])


def test_a_slot_made_anew_by_hand_does_not_hide_what_was_missed(saga: Saga, slots: Slots) -> None:
    slots.stop_reading("payment")
    slots.drop("payment")
    order_id = saga.place()
    until(lambda: written(saga, "payment") - times_on_topic(saga, "payment.events").keys(),
          "an event that is not published")  # fmt: skip
    slots.make_anew("payment")
    slots.read_on("payment")
    # Between two failures it is starting, for a moment; recover waits until it knows.
    until(lambda: relay_of("payment")["remedy"] == "orderctl cdc recover payment",
          "the task to fail", 60)  # fmt: skip
    assert orderctl("cdc", "recover", "payment").returncode == 0
    assert saga.ended(order_id, 90) == "confirmed"
    saga.verify()


def test_a_slot_that_was_cut_off_is_named_and_recovered(saga: Saga, slots: Slots) -> None:
    slots.stop_reading("inventory")
    order_id = saga.place()
    until(lambda: saga.db.outbox("inventory", order_id), "the reservation")
    slots.cut_off("inventory")
    relay = relay_of("inventory")
    assert (relay["state"], relay["remedy"]) == ("lost", "orderctl cdc recover inventory")
    slots.read_on("inventory")
    assert orderctl("cdc", "recover", "inventory").returncode == 0
    assert saga.ended(order_id, 90) == "confirmed"
    saga.verify()


def test_recover_refuses_a_relay_that_is_well(saga: Saga) -> None:
    done = orderctl("cdc", "recover", "email")
    assert done.returncode == 1 and "has not lost its place" in done.stderr
