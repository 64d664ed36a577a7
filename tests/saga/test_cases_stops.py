"""Cases from the field: SIGTERM at a bad moment."""

from uuid import uuid4

from infra.names import database
from services.orderctl.groups import read_groups
from tests.live_stack import LiveStack
from tests.saga.support.faults import Faults
from tests.saga.support.instance import GRACE, instance
from tests.saga.support.saga import Saga
from tests.saga.support.wait import until

SERVICE = "inventory"


def members(saga: Saga) -> int:
    """How many members the service's consumer group has."""
    (group,) = read_groups(saga.settings.kafka_bootstrap, [SERVICE])
    return group.members


def test_c38_sigterm_when_idle(saga: Saga, stack: LiveStack) -> None:
    with instance(stack, SERVICE) as one:
        one.wait_ready()
        until(lambda: members(saga) == 2, "both to be in the group")
        one.terminate()
        code, seconds = one.ended()
        assert code == 0 and seconds < GRACE
        # It has left the group: nobody waits for its session to end.
        until(lambda: members(saga) == 1, "the group to know", 5)
    assert saga.ended(saga.place()) == "confirmed"
    saga.verify()


def test_c38_sigterm_in_a_handler(saga: Saga, stack: LiveStack, faults: Faults) -> None:
    body = saga.body()
    with faults.stopped(SERVICE), instance(stack, SERVICE) as one:
        one.wait_ready()
        with stack.admin(database(SERVICE)) as admin, admin.transaction():
            admin.execute("LOCK TABLE stock IN ACCESS EXCLUSIVE MODE")
            order_id = saga.post(body).json()["order_id"]
            until(lambda: _waits_for_lock(stack), "the handler to be in the middle of its work")
            one.terminate()
        code, seconds = one.ended()
        assert code == 0 and seconds < GRACE
        # The batch in hand was finished and committed, not dropped.
        assert saga.db.outbox(SERVICE, order_id)
    assert saga.ended(order_id) == "confirmed"
    assert len(saga.db.outbox(SERVICE, order_id)) == 1
    saga.verify()


def test_c38_sigterm_right_after_a_poison_record(
    saga: Saga, stack: LiveStack, faults: Faults
) -> None:
    with faults.stopped(SERVICE), instance(stack, SERVICE) as one:
        one.wait_ready()
        place = saga.topics.produce_bytes("OrderPlaced", str(uuid4()), b"abcd")
        one.terminate()
        code, seconds = one.ended()
        assert code == 0 and seconds < GRACE
    saga.topics.wait_read(place, SERVICE)
    query = "SELECT status, attempts FROM dead_letters WHERE message_id = CAST(:id AS uuid)"
    assert saga.db.rows(SERVICE, query, id=place.message_id) == [{"status": "dead", "attempts": 1}]
    mirrored = "SELECT count(*) AS n FROM outbox WHERE causation_id = :id"
    assert saga.db.rows(SERVICE, mirrored, id=place.message_id) == [{"n": 1}]
    until(lambda: saga.put_aside("analytics", place.message_id), "the letter of the other reader")
    until(lambda: saga.put_aside("projector", place.message_id), "the projector's letter")
    saga.discard(place.message_id)


def _waits_for_lock(stack: LiveStack) -> bool:
    with stack.admin() as admin:
        query = """
            SELECT count(*) FROM pg_stat_activity
            WHERE application_name = %s AND wait_event_type = 'Lock'"""
        row = admin.execute(query, [SERVICE]).fetchone()
    return row is not None and row[0] > 0
