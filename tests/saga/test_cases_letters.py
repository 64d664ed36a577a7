"""Cases from the field: poison, dead letters and what is parked behind them."""

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

from services.eventkit.codec import Codec
from services.eventkit.schemas import Schemas
from services.orderctl.murmur2 import partition_of
from services.orderctl.operations import Operations
from services.orderctl.stuck.facts import readers as readers_of
from services.orderctl.waiting import ending_of
from tests.live_stack import LiveStack
from tests.saga.support.faults import Faults
from tests.saga.support.orderctl import orderctl, orderctl_json
from tests.saga.support.refusal import refused
from tests.saga.support.saga import Saga
from tests.saga.support.wait import eventually, until

ACTING = ("order", "inventory", "payment", "email", "analytics")
GROUPS = (*ACTING, "projector")

# Of each topic an event that somebody acts on, with valid content.
EVENTS: dict[str, dict[str, Any]] = {
    "OrderCancelled": {"customer_id": "c", "total": 1, "currency": "EUR", "reason": "x"},
    "StockReleased": {"lines": []},
    "PaymentRefunded": {"payment_id": "p", "amount": 1, "currency": "EUR"},
    "EmailSent": {"kind": "confirmed"},
    "ReportReady": {"report_id": "r"},
}
OTHER = "RefundFailed"
OTHER_DATA = {"payment_id": "p", "amount": 1, "currency": "EUR", "reason": "x"}
POISON: dict[str, Callable[[bytes, bytes], bytes | None]] = {
    "text": lambda good, other: b"abcd",
    "empty": lambda good, other: b"",
    "null": lambda good, other: None,
    "unknown_schema": lambda good, other: b"\x00\x00\x0f\x42\x3f" + good[5:],
    "truncated": lambda good, other: good[:-1],
    "extra_bytes": lambda good, other: good + b"\x01\x02",
    "other_type": lambda good, other: other,
}


def letters_of(saga: Saga, service: str, keys: dict[str, str]) -> dict[str, bytes | None]:
    """The dead letters about these records in one service: message id and the record's bytes."""
    query = """
        SELECT message_id::text AS id, record_value AS value FROM dead_letters
        WHERE message_id::text = ANY(:ids) AND status = 'dead'"""
    found = saga.db.rows(service, query, ids=list(keys))
    return {row["id"]: row["value"] and bytes(row["value"]) for row in found}


@pytest.mark.timeout(420)
def test_c30_poison_is_put_aside_once_and_nothing_waits_for_it(
    saga: Saga, stack: LiveStack, faults: Faults
) -> None:
    codec = Codec(Schemas.load(), saga.settings.registry_url)
    other = codec.encode(OTHER, OTHER_DATA)
    sent: dict[str, tuple[str, bytes | None]] = {}
    last = []
    for event_type, data in EVENTS.items():
        good = codec.encode(event_type, data)
        for poison in POISON.values():
            value = poison(good, other)
            place = saga.topics.produce_bytes(event_type, str(uuid4()), value)
            sent[place.message_id] = (event_type, value)
            last.append(place)

    order_id = saga.place()
    assert saga.ended(order_id) == "confirmed"
    expected = {
        service: {
            id_: value
            for id_, (event_type, value) in sent.items()
            if readers_of(event_type, [service])
        }
        for service in GROUPS
    }
    ids = dict.fromkeys(sent, "")

    def put_aside() -> dict[str, dict[str, bytes | None]]:
        return {service: letters_of(saga, service, ids) for service in GROUPS}

    until(lambda: put_aside() == expected, "every poison record to be a letter where it is read")
    before = put_aside()
    mirrored = {service: saga.db.count(service, "outbox", topic=f"{service}.dlq")
                for service in ACTING}  # fmt: skip
    stack.restart(*ACTING, "projector-agent")
    saga.place()
    for place in last:
        saga.topics.wait_read(place, "projector")
    saga.verify()
    assert put_aside() == before
    for service in ACTING:
        assert saga.db.count(service, "outbox", topic=f"{service}.dlq") == mirrored[service]

    for message_id in sent:
        saga.discard(message_id)
    assert all(not found for found in put_aside().values())


def test_c31_a_letter_that_fails_five_times_stays_itself(
    saga: Saga, stack: LiveStack, faults: Faults
) -> None:
    # The order's id is known only once it is placed: inventory waits meanwhile.
    body = saga.body()
    stack.stop("inventory")
    order_id = saga.post(body).json()["order_id"]
    with refused(stack, "payment", order_id):
        stack.start("inventory")
        query = "SELECT * FROM dead_letters WHERE key = :key"
        first = until(lambda: saga.db.row("payment", query, key=order_id), "the dead letter")
        listed = orderctl_json("dlq", "list", "--order", order_id)
        assert listed["by_reason"] == {"constraint": 1}
        plan = orderctl_json("dlq", "redrive", "--order", order_id, "--dry-run")
        assert plan["by_reason"] == {"constraint": 1}
        others = {name: len(saga.db.outbox(name, order_id)) for name in ACTING if name != "payment"}
        operations = Operations(saga.shop, "anna", "trying again")
        for _ in range(4):
            operations.redrive_key("payment", order_id)
        failed = orderctl("dlq", "redrive", "--order", order_id, "--by", "anna")
        assert failed.returncode == 1 and "quarantined" in failed.stdout

    again = saga.db.row("payment", query, key=order_id)
    assert again is not None
    kept = ("message_id", "topic", "partition", "offset", "record_key", "record_headers")
    assert {name: again[name] for name in kept} == {name: first[name] for name in kept}
    assert again["first_error"] == first["first_error"]
    assert (again["attempts"], again["status"]) == (6, "quarantined")
    assert {name: len(saga.db.outbox(name, order_id)) for name in others} == others
    mirror = ("payment.dlq",)
    until(lambda: len(saga.topics.of(order_id, mirror)) == 6, "each failure on the dlq topic")
    mirrored = [read.record for read in saga.topics.of(order_id, mirror)]
    assert len({len(record.headers) for record in mirrored}) == 1
    sizes = [len(record.value or b"") for record in mirrored]
    assert max(sizes) - min(sizes) < 50

    done = orderctl_json("dlq", "redrive", "--order", order_id, "--by", "anna", "--why", "mended")
    assert [result["status"] for result in done] == ["redriven"]
    assert saga.ended(order_id) == "confirmed"
    audit = "SELECT made_by, why FROM decisions WHERE subject = :id ORDER BY id"
    who = [(row["made_by"], row["why"]) for row in
           saga.db.rows("payment", audit, id=str(first["message_id"]))]  # fmt: skip
    assert who[0] == ("anna", "trying again") and who[-1] == ("anna", "mended")
    assert len(who) == 6
    saga.verify()


GOOD = 50
SECONDS_FOR_THE_GOOD = 60


@pytest.mark.timeout(420)
def test_c35_one_bad_order_and_fifty_good_ones_in_its_partition(
    saga: Saga, stack: LiveStack, faults: Faults
) -> None:
    sku = saga.goods("MUG", 10_000)
    body = saga.body({sku: 1})
    stack.stop("inventory")
    bad = saga.post(body).json()["order_id"]
    own = partition_of(bad.encode(), 6)
    with refused(stack, "payment", bad):
        stack.start("inventory")
        until(lambda: saga.db.row("payment", "SELECT 1 AS x FROM dead_letters WHERE key = :key",
                                  key=bad), "the bad order's letter")  # fmt: skip
        good = _place_in_partition(saga, body, own)
        started = time.monotonic()
        waiting = set(good)
        while waiting:
            waiting -= {one for one in waiting if ending_of(saga.order(one)) == "confirmed"}
            assert time.monotonic() - started < SECONDS_FOR_THE_GOOD, f"{len(waiting)} still wait"
        saga.cancelled(bad)
        parked = "SELECT count(*) AS n FROM dead_letters WHERE key = :key AND status = 'parked'"
        until(lambda: saga.db.rows("payment", parked, key=bad)[0]["n"] == 1, "the cancel parked")

    results = orderctl_json("dlq", "redrive", "--order", bad)
    assert [result["status"] for result in results] == ["redriven", "redriven"]
    assert saga.ended(bad) == "cancelled:customer_request"
    query = "SELECT status FROM payments WHERE key = :key"
    until(lambda: saga.db.row("payment", query, key=bad) == {"status": "voided"}, "the void")
    ledger = saga.ledger(bad)
    assert sum(ledger["capture"]) == sum(ledger["refund"])
    for order_id in set(saga.orders) - {bad}:
        assert saga.ended(order_id) == "confirmed"
    saga.verify()


def _place_in_partition(saga: Saga, body: dict[str, Any], partition: int) -> list[str]:
    found: list[str] = []
    with ThreadPoolExecutor(8) as pool:
        while len(found) < GOOD:
            answers = list(pool.map(lambda _: saga.post(body), range(24)))
            ids = [answer.json()["order_id"] for answer in answers]
            found += [one for one in ids if partition_of(one.encode(), 6) == partition]
    return found


def test_c35_a_provider_that_never_answers_holds_up_only_its_own_order(saga: Saga) -> None:
    slow = saga.place(token="tok_slow_30000")
    good = [saga.place() for _ in range(10)]
    assert [saga.ended(order_id) for order_id in good] == ["confirmed"] * 10
    until(lambda: saga.order(slow)["waiting_for"]["step"] == "payment", "the charge to be due")

    def told_why() -> None:
        # Right after an event its reader's lag is a cause too: offsets are committed later.
        stuck = orderctl_json("stuck", "--budget", "0")
        (mine,) = (order for order in stuck if order["order_id"] == slow)
        assert {cause["kind"] for cause in mine["causes"]} == {"job", "deadline"}

    eventually(told_why, 20)
    assert saga.ended(slow, 90) == "confirmed"
    saga.verify()


def test_dlq_show_prints_the_record_and_unknown_ids_are_named(saga: Saga, stack: LiveStack) -> None:
    place = saga.topics.produce_bytes("StockReserved", str(uuid4()), b"abcd")
    id_ = place.message_id
    readers = readers_of("StockReserved", GROUPS)
    until(lambda: all(saga.put_aside(name, id_) for name in readers), "the letters of all readers")
    shown = json.loads(orderctl("dlq", "show", place.message_id).stdout)
    assert {one["service"] for one in shown} == set(readers) - {"projector"}
    assert {one["value"] for one in shown} == {"YWJjZA=="}
    done = orderctl("dlq", "discard", place.message_id, "--reason", "test", "--yes")
    assert done.returncode == 2 and "--service" in done.stderr
    give_up = ("dlq", "discard", id_, "-s", "projector", "--reason", "test", "--by", "anna")
    assert orderctl(*give_up).returncode == 2, "nobody was there to be asked"
    one = orderctl(*give_up, "--yes")
    assert one.returncode == 0 and "discarded" in one.stdout
    saga.discard(id_)
    assert orderctl("dlq", "show", str(uuid4())).returncode == 1
