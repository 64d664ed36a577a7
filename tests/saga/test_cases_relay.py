"""Cases from the field: the relay between outbox and topics."""

import threading
from collections.abc import Callable
from datetime import timedelta
from uuid import UUID, uuid4

import psycopg
import pytest
import sqlalchemy as sa

from infra.names import EMITTERS, database
from services.eventkit.retention import prune_inbox, prune_outbox
from services.orderctl import relays
from services.orderctl.errors import CliError
from services.orderctl.kafka import read_all
from tests.live_stack import LiveStack
from tests.saga.support.faults import Faults
from tests.saga.support.saga import Saga
from tests.saga.support.slots import MB, Slots
from tests.saga.support.wait import until

QUIET = "analytics"
WEEK = timedelta(days=7)
BACK_WITHIN = 90.0
"""Seconds in which every relay reads again by itself, on a machine that is busy besides."""


def test_c43_the_slot_of_a_quiet_database_holds_nothing_back(
    saga: Saga, stack: LiveStack, slots: Slots
) -> None:
    slots.write(100)
    until(lambda: slots.retained(*EMITTERS) < 20 * MB, "every slot to let go of what was written")
    heartbeats = read_all(saga.settings.kafka_bootstrap, [f"__debezium-heartbeat.dbz.{QUIET}"])
    assert all(record.topic.startswith("__debezium") for record in heartbeats)
    assert saga.ended(saga.place()) == "confirmed"
    saga.verify()


@pytest.mark.parametrize("service", EMITTERS)
@pytest.mark.parametrize("statement", ["UPDATE outbox SET payload = 'changed'", "TRUNCATE outbox"])
def test_c44_a_row_of_an_outbox_is_never_changed(
    stack: LiveStack, service: str, statement: str
) -> None:
    with stack.admin(database(service)) as admin:
        _make_row(admin, f"{service}.dlq", old=False)
        with pytest.raises(psycopg.errors.RestrictViolation):
            admin.execute(statement)


def test_c44_deleting_rows_puts_nothing_on_a_topic(saga: Saga, stack: LiveStack) -> None:
    topic = f"{QUIET}.dlq"
    with stack.admin(database(QUIET)) as admin:
        first = _make_row(admin, topic, old=True)
        until(lambda: first in _ids(saga, topic), "the row to be published")
        admin.execute("DELETE FROM outbox WHERE message_id = %s", [first])
        marker = _make_row(admin, topic, old=True)
        until(lambda: marker in _ids(saga, topic), "the next row to be published")
        records = list(read_all(saga.settings.kafka_bootstrap, [topic]))
        assert [r.headers["ce_id"] for r in records].count(str(first)) == 1
        assert all(record.value is not None for record in records)
        admin.execute("DELETE FROM outbox WHERE message_id = %s", [marker])


def test_c44_clean_up_never_removes_a_row_that_was_not_read(
    saga: Saga, stack: LiveStack, slots: Slots
) -> None:
    db = sa.create_engine(stack.settings.database_url("postgres", database(QUIET)))
    topic = f"{QUIET}.dlq"
    slots.stop_reading(QUIET)
    try:
        with stack.admin(database(QUIET)) as admin:
            old, new = _make_row(admin, topic, old=True), _make_row(admin, topic, old=False)
            assert prune_outbox(db, QUIET, WEEK, wait=1) == 0
            assert _left(admin, old, new) == {old, new}
    finally:
        slots.read_on(QUIET)
    until(lambda: slots.state(QUIET)[0], "the slot to be read again", BACK_WITHIN)
    until(lambda: prune_outbox(db, QUIET, WEEK, wait=5), "the old row to be removed", BACK_WITHIN)
    with stack.admin(database(QUIET)) as admin:
        assert _left(admin, old, new) == {new}
    until(lambda: {old, new} <= _ids(saga, topic), "both rows to be on the topic")
    db.dispose()


def test_c44_clean_up_leaves_what_is_dead_or_parked_in_the_inbox(stack: LiveStack) -> None:
    db = sa.create_engine(stack.settings.database_url("postgres", database(QUIET)))
    ids = {status: uuid4() for status in ("done", "dead", "parked", "discarded")}
    with stack.admin(database(QUIET)) as admin:
        for status, message_id in ids.items():
            admin.execute(
                """INSERT INTO inbox (message_id, topic, partition, "offset", tenant_id, status,
                   received_at) VALUES (%s, 'order.events', 0, 0, 'demo', %s,
                   now() - interval '8 days')""",
                [message_id, status if status in ("dead", "parked") else "done"],
            )
        # Its letter would stand in the way of a second one, were it not known when it comes again.
        admin.execute(
            """INSERT INTO dead_letters (message_id, tenant_id, topic, partition, "offset",
               record_headers, status, reason, first_error, last_error, attempts, failed_at)
               VALUES (%s, 'demo', 'order.events', 0, 0, '[]', 'discarded', 'rule', 'e', 'e', 1,
               now())""",
            [ids["discarded"]],
        )
        assert prune_inbox(db, WEEK) >= 1
        query = "SELECT message_id FROM inbox WHERE message_id = ANY(%s)"
        left = {row[0] for row in admin.execute(query, [list(ids.values())])}
        assert left == {ids["dead"], ids["parked"], ids["discarded"]}
        admin.execute("DELETE FROM inbox WHERE message_id = ANY(%s)", [list(left)])
        admin.execute("DELETE FROM dead_letters WHERE message_id = %s", [ids["discarded"]])
    db.dispose()


def _close_order_db(faults: Faults) -> None:
    with faults.database_closed("order"):
        threading.Event().wait(8)  # how long the fault lasts


def _restart_postgres(faults: Faults) -> None:
    faults.stack.restart("postgres")


def _kill_connect(faults: Faults) -> None:
    faults.stack.kill("connect")


@pytest.mark.parametrize("fault", [_close_order_db, _restart_postgres, _kill_connect])
def test_c46_the_relay_comes_back_without_a_hand(
    saga: Saga, faults: Faults, fault: Callable[[Faults], None]
) -> None:
    with saga.ordering():
        saga.more_orders(3)
        fault(faults)
        until(lambda: _all_read(saga), "every relay to read again", BACK_WITHIN)
        saga.more_orders(3)
    for order_id in saga.orders:
        assert saga.ended(order_id, 90) == "confirmed"
    saga.verify()


def _all_read(saga: Saga) -> bool:
    try:
        return all(status.well for status in relays.read(saga.settings))
    except CliError:
        return False  # a database does not answer yet


def _make_row(admin: psycopg.Connection, topic: str, *, old: bool) -> UUID:
    """An outbox row that no service acts on, written now or more than a week ago."""
    message_id, key = uuid4(), str(uuid4())
    age = "8 days" if old else "0 days"
    admin.execute(
        """INSERT INTO outbox (message_id, topic, aggregate_id, event_type, source, event_time,
           subject, correlation_id, sequence, schema_version, tenant_id, actor_id, payload,
           created_at)
           VALUES (%s, %s, %s, 'DeadLetter', '/tests', '2026-01-31T09:15:00.000Z', %s, 'c', 0,
           '1', 'demo', 'tests', 'a test', (now() - CAST(%s AS interval)) AT TIME ZONE 'utc')""",
        [message_id, topic, key, key, age],
    )
    return message_id


def _left(admin: psycopg.Connection, *ids: UUID) -> set[UUID]:
    query = "SELECT message_id FROM outbox WHERE message_id = ANY(%s)"
    return {row[0] for row in admin.execute(query, [list(ids)])}


def _ids(saga: Saga, topic: str) -> set[UUID]:
    records = read_all(saga.settings.kafka_bootstrap, [topic])
    return {UUID(record.headers["ce_id"]) for record in records}
