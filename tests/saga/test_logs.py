"""The logs join up and tell nothing that is nobody's business.

A saga of every kind runs with names, addresses, tokens and prices that occur nowhere else; then all
logs of all processes are searched for them.
"""

import json
from typing import Any
from uuid import uuid4

from tests.live_stack import LiveStack
from tests.saga.support.orderctl import orderctl
from tests.saga.support.saga import Saga
from tests.saga.support.wait import until

SERVICES = ("order", "inventory", "payment", "email", "analytics")
FIELDS = {
    "trace_id", "message_id", "key", "topic", "partition", "offset", "outcome", "tenant",
    "event_type", "timestamp", "level",
}  # fmt: skip
NAME = "Grace Unmistakable"


def lines_of(stack: LiveStack, service: str, key: str) -> list[dict[str, Any]]:
    """The lines of a service about a key."""
    return [json.loads(line) for line in stack.log(service).splitlines() if key in line]


def handled(stack: LiveStack, service: str, key: str) -> list[dict[str, Any]]:
    return [line for line in lines_of(stack, service, key) if line["event"] == "event handled"]


def test_each_event_has_a_line_that_says_what_became_of_it(saga: Saga, stack: LiveStack) -> None:
    trace_id = uuid4().hex
    header = {"traceparent": f"00-{trace_id}-{uuid4().hex[:16]}-01"}
    order_id = saga.post(saga.body(), header).json()["order_id"]
    assert saga.ended(order_id) == "confirmed"
    saga.wait_for(order_id, "EmailSent")
    reads = saga.topics.of(order_id)

    def whole() -> bool:
        return len(handled(stack, "analytics", order_id)) == len(reads)

    until(whole, "a line for each event")
    for service in SERVICES:
        found = handled(stack, service, order_id)
        assert found, service
        for line in found:
            assert not FIELDS - line.keys(), line
            assert (line["trace_id"], line["key"]) == (trace_id, order_id)
            assert (line["tenant"], line["outcome"]) == ("demo", "applied")
        jobs = [line for line in lines_of(stack, service, order_id) if line["event"] == "job done"]
        assert all(line["trace_id"] == trace_id for line in jobs)
    ids = {line["message_id"] for line in handled(stack, "analytics", order_id)}
    assert ids == {read.record.headers["ce_id"] for read in reads}

    shown = orderctl("show", order_id).stdout
    assert "confirmed" in shown


def test_no_log_has_payload_or_personal_data(saga: Saga, stack: LiveStack) -> None:
    secret = uuid4().hex
    customer = f"customer-{secret[:8]}"
    address = f"refuse-{secret}@shop.example"
    saga.shop.put_contact(customer, NAME, address)
    confirmed = saga.place(customer_id=customer, token=f"tok_ok.notify.{secret}", unit_price=918273)
    declined = saga.place(customer_id=customer, token=f"tok_{secret}")
    assert saga.ended(declined).startswith("cancelled:payment_declined")
    assert saga.ended(confirmed)
    wrong = {"customer_id": customer, "payment_token": f"tok_{secret}", "lines": [{"sku": secret}]}
    assert saga.post(wrong).status_code == 422
    forged = saga.topics.produce_bytes("OrderPlaced", str(uuid4()), f"{NAME} {secret}".encode())
    saga.topics.wait_read(forged, "inventory", "analytics", "projector")
    try:
        until(
            lambda: handled(stack, "email", confirmed) and handled(stack, "email", declined),
            "the events that lead to mails",
        )
    finally:
        saga.discard(forged.message_id)

    found = {
        (log.name, word)
        for log in (stack.state_dir / "logs").glob("*.log*")
        for word in (NAME, secret, address, "918273")
        if word in log.read_text(errors="replace")
    }
    assert not found
