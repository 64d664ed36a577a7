"""Cases from the field: keys, order of arrival, and connectors."""

from uuid import uuid4

import psycopg
import pytest

from infra.local import lifecycle, ready
from infra.names import EMITTERS, connector, slot
from services.orderctl.murmur2 import partition_of
from tests.live_stack import LiveStack
from tests.saga.support.faults import Faults
from tests.saga.support.orderctl import orderctl
from tests.saga.support.saga import Saga
from tests.saga.support.topics import EVENT_TOPICS
from tests.saga.support.wait import eventually, until


def test_c39_one_key_has_one_partition(saga: Saga) -> None:
    order_id = saga.place(token="tok_declined")
    assert saga.ended(order_id) == "cancelled:payment_declined"
    saga.wait_for(order_id, "EmailSent", "StockReleased")
    again = saga.again(saga.topics.one(order_id, "OrderCancelled"), new_id=True)
    saga.topics.wait_read(again, "inventory", "email", "analytics", "projector")

    records = [read.record for read in saga.topics.of(order_id)]
    assert {record.topic for record in records} >= {
        "order.events", "inventory.events", "payment.events", "email.events",
    }  # fmt: skip
    assert {record.key for record in records} == {order_id.encode()}
    partitions = {record.partition for record in records if record.topic in EVENT_TOPICS}
    assert partitions == {again.partition} == {partition_of(order_id.encode(), 6)}
    rows = saga.db.rows(
        "projector", "SELECT partition FROM order_timeline WHERE order_id = :key", key=order_id
    )
    assert {row["partition"] for row in rows} == partitions
    saga.verify()


def test_c39_a_dead_letter_keeps_its_key(saga: Saga) -> None:
    key = str(uuid4())
    nothing = {"amount": 0, "currency": "EUR", "payment_token": "tok_ok"}
    place = saga.produce("StockReserved", key, nothing)
    saga.topics.wait_read(place, "payment")

    until(lambda: saga.topics.of(key, ["payment.dlq"]), "the dead letter")
    (letter,) = saga.topics.of(key, ["payment.dlq"])
    assert letter.record.key == key.encode()
    told = {name: letter.data[name] for name in ("topic", "partition", "offset", "key")}
    assert told == {
        "topic": "inventory.events",
        "partition": partition_of(key.encode(), 6),
        "offset": place.offset,
        "key": key.encode(),
    }
    why = ("-s", "payment", "--reason", "a test", "--yes")
    done = orderctl("dlq", "discard", place.message_id, *why)
    assert done.returncode == 0, done.stderr


def test_c47_setting_up_twice_changes_nothing(stack: LiveStack, faults: Faults) -> None:
    assert [faults.set_up_connectors(), faults.set_up_connectors()] == ["5 running"] * 2
    stack.restart("connect")
    _expect_one_of_each(stack, faults)


@pytest.mark.parametrize("times", [1, pytest.param(5, marks=pytest.mark.long)])
def test_c47_connectors_made_from_nothing_are_the_same_ones(
    saga: Saga, stack: LiveStack, faults: Faults, times: int
) -> None:
    for _ in range(times):
        for service in EMITTERS:
            faults.delete_connector(service)
        assert faults.connectors() == set()
        # C13: an order is taken though none of them is there.
        order_id = saga.place()
        assert saga.order(order_id)["waiting_for"]["step"] == "stock"
        assert faults.set_up_connectors() == "5 running, 5 changed"
        _expect_one_of_each(stack, faults)
        assert saga.ended(order_id) == "confirmed"
    saga.verify()


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_c47_everything_started_cold_in_one_go_comes_to_the_same(
    saga: Saga, stack: LiveStack, faults: Faults
) -> None:
    for _ in range(5):
        lifecycle.down()
        lifecycle.up()
        _expect_one_of_each(stack, faults)
        assert saga.ended(saga.place()) == "confirmed"
    saga.verify()


def _expect_one_of_each(stack: LiveStack, faults: Faults) -> None:
    """One connector and one slot for each outbox, and each slot is read."""
    assert faults.connectors() == {connector(service) for service in EMITTERS}

    def slots_are_read() -> None:
        with psycopg.connect(stack.settings.slots_url.replace("+psycopg", "")) as conn:
            slots = conn.execute("SELECT slot_name, active FROM pg_replication_slots").fetchall()
        assert sorted(slots) == sorted((slot(service), True) for service in EMITTERS)

    eventually(slots_are_read)


def test_c47_status_names_a_missing_connector(saga: Saga, stack: LiveStack, faults: Faults) -> None:
    faults.delete_connector("order")
    until(lambda: "order: connector missing" in _connect(stack), "status to name the connector")
    order_id = saga.place()
    assert saga.order(order_id)["waiting_for"]["step"] == "stock"

    assert faults.set_up_connectors() == "5 running, 1 changed"
    assert saga.ended(order_id) == "confirmed"
    until(lambda: not _connect(stack), "status to find nothing wrong")
    saga.verify()


def test_c55_an_older_event_overwrites_nothing(saga: Saga) -> None:
    order_id = saga.place()
    assert saga.ended(order_id) == "confirmed"
    saga.verify()
    before = _view(saga, order_id)

    late = saga.again(saga.topics.one(order_id, "OrderPlaced"), new_id=True)
    saga.topics.wait_read(late, "projector", "analytics", "inventory")
    assert _view(saga, order_id) == before
    saga.verify()


def test_c55_a_newer_event_comes_first(saga: Saga) -> None:
    order_id = str(uuid4())
    total = {"customer_id": "nobody", "total": 1250, "currency": "EUR"}
    readers = ("projector", "analytics")
    saga.topics.wait_read(saga.produce("OrderConfirmed", order_id, total, 3), *readers)
    first = saga.view(order_id)
    assert (first["status"], first["order_sequence"], first["lines"]) == ("confirmed", 3, None)

    lines = [{"sku": saga.unheard_of(), "quantity": 1, "unit_price": 1250}]
    placed = {**total, "payment_token": "tok_ok", "pay_by": saga.in_an_hour(), "lines": lines}
    saga.topics.wait_read(saga.produce("OrderPlaced", order_id, placed, 1), *readers)
    second = saga.view(order_id)
    assert (second["status"], second["order_sequence"]) == ("confirmed", 3)
    assert second["lines"] == lines
    assert second["pay_by"] and second["placed_at"]
    figures = saga.db.row(
        "analytics", "SELECT status, total FROM order_figures WHERE key = :key", key=order_id
    )
    assert figures == {"status": "confirmed", "total": 1250}


def _connect(stack: LiveStack) -> str:
    """What `make status` says is wrong with Connect."""
    return ready.not_ready(stack.settings)["connect"]


def _view(saga: Saga, order_id: str) -> dict[str, object]:
    row = saga.db.row("projector", "SELECT * FROM order_view WHERE order_id = :key", key=order_id)
    assert row is not None
    return row
