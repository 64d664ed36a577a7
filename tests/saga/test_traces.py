"""One trace for each saga, whatever its ending: all edges, no orphan, nothing of another saga."""

import re
import time
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx
import pytest

from services.eventkit.tracing import BATCH_SIZE
from services.orderctl.groups import GROUPS
from services.orderctl.waterfall import Span
from tests.saga.support.faults import Faults
from tests.saga.support.groups import caught_up
from tests.saga.support.orderctl import orderctl, orderctl_json
from tests.saga.support.saga import Saga
from tests.saga.support.traces import batches_of, chain, spans_of
from tests.saga.support.wait import eventually, until

UNDECIDED = "tok_flaky_9"
KEY = "messaging.kafka.message.key"

PLACED = ["order: POST /orders", "order: send order.events"]
DELETED = ["order: DELETE /orders/{order_id}", "order: send order.events"]
TIMED_OUT = ["order: POST /orders", "order: job payment_deadline", "order: send order.events"]
RESERVED = [
    *PLACED,
    "inventory: process order.events",
    "inventory: send inventory.events",
    "payment: process inventory.events",
    "payment: job charge",
]
RELEASED = ["inventory: process order.events", "inventory: send inventory.events"]
TOLD = ["email: process order.events", "email: job mail_cancelled", "email: send email.events"]

EXPECTED: dict[str, list[list[str]]] = {
    "confirmed": [
        [
            *RESERVED,
            "payment: send payment.events",
            "order: process payment.events",
            "order: send order.events",
            "email: process order.events",
            "email: job mail_confirmed",
            "email: smtp send",
        ],
        [*RESERVED, "payment: POST", "payment-provider: POST /charges"],
    ],
    "cancelled:out_of_stock": [
        [
            *PLACED,
            *RELEASED,
            "order: process inventory.events",
            "order: send order.events",
            *TOLD,
        ],
    ],
    "cancelled:payment_declined": [
        [
            *RESERVED,
            "payment: send payment.events",
            "order: process payment.events",
            "order: send order.events",
            *RELEASED,
            "order: process inventory.events",
        ],
    ],
    "cancelled:customer_request": [
        [*RESERVED, "payment: POST"],
        [*DELETED, *RELEASED, "order: process inventory.events"],
        [*DELETED, "payment: process order.events", "payment: job void", "payment: POST"],
        [*DELETED, *TOLD],
    ],
    "cancelled:payment_timeout": [
        [*TIMED_OUT, *RELEASED],
        [*TIMED_OUT, "payment: process order.events", "payment: job void"],
    ],
    "needs_attention": [
        [
            *DELETED,
            "payment: process order.events",
            "payment: job refund",
            "payment: send payment.events",
            "order: process payment.events",
            "order: send order.events",
        ],
    ],
}


@dataclass
class Traced:
    """An order under a trace id and a parent span of the test's own."""

    trace_id: str = field(default_factory=lambda: uuid4().hex)
    parent: str = field(default_factory=lambda: uuid4().hex[:16])
    order_id: str = ""

    @property
    def headers(self) -> dict[str, str]:
        return {"traceparent": f"00-{self.trace_id}-{self.parent}-01"}

    def place(self, saga: Saga, token: str = "tok_ok", **more: Any) -> "Traced":
        answer = saga.post(saga.body(token=token, **more), self.headers)
        assert answer.json()["trace_id"] == self.trace_id
        self.order_id = answer.json()["order_id"]
        return self

    def cancel(self, saga: Saga) -> None:
        path = f"/orders/{self.order_id}"
        answer = saga.shop.orders.send("DELETE", path, headers=self.headers)
        assert answer.status_code == httpx.codes.ACCEPTED


def check(saga: Saga, traced: Traced, ending: str) -> None:
    """The trace has every expected way, no orphan, and no span of another order."""
    found: list[Span] = []

    def whole() -> None:
        found[:] = spans_of(saga.shop.jaeger, traced.trace_id)
        ways = [chain(found, span) for span in found]
        missing = [way for way in EXPECTED[ending] if way not in ways]
        assert not missing, "\n".join(" > ".join(way) for way in missing)
        known = {span.span_id for span in found} | {traced.parent}
        orphans = [span for span in found if span.parent_id not in known]
        assert not orphans, orphans

    eventually(whole)
    keys = {span.tags[KEY] for span in found if KEY in span.tags}
    assert keys == {traced.order_id}
    hops = [span for span in found if span.name.startswith("process ")]
    assert all(span.outbox_ms is not None and span.topic_ms is not None for span in hops)
    eventually(lambda: check_batches(saga, traced, hops))


def check_batches(saga: Saga, traced: Traced, hops: list[Span]) -> None:
    """Every event of the trace is linked to the batch that its consumer took it in."""
    linked = batches_of(saga.shop.jaeger, traced.trace_id)
    for span in hops:
        (batch,) = linked[span.span_id]
        assert (batch.service, batch.name) == (span.service, "process batch")
        assert batch.parent_id is None
        assert batch.tags[BATCH_SIZE] >= 1
        assert batch.start <= span.start
        assert span.start + span.duration <= batch.start + batch.duration


def test_every_ending_is_one_trace_and_sagas_do_not_mix(saga: Saga, faults: Faults) -> None:
    """All of them go on at the same time: their batches and spans interleave."""
    with faults.held_back("payment"):
        attention = Traced().place(saga, "tok_ok.refund_fails")
        saga.captured(attention.order_id)
        attention.cancel(saga)
    at_once = {
        "confirmed": Traced().place(saga),
        "cancelled:out_of_stock": Traced().place(saga, lines={saga.unheard_of(): 1}),
        "cancelled:payment_declined": Traced().place(saga, "tok_declined"),
        "cancelled:payment_timeout": Traced().place(saga, UNDECIDED, pay_within=1),
        "cancelled:customer_request": Traced().place(saga, UNDECIDED),
    }
    asked = at_once["cancelled:customer_request"]
    saga.charging(asked.order_id)
    asked.cancel(saga)

    for ending, traced in at_once.items():
        assert saga.ended(traced.order_id) == ending
    saga.wait_for(attention.order_id, "OrderNeedsAttention")
    for ending, traced in {**at_once, "needs_attention": attention}.items():
        check(saga, traced, ending)


@pytest.fixture
def slow(saga: Saga) -> str:
    """A confirmed order whose provider took a second."""
    order_id = Traced().place(saga, "tok_slow_1000").order_id
    assert saga.ended(order_id) == "confirmed"
    saga.wait_for(order_id, "EmailSent")
    return order_id


def test_orderctl_trace_tells_where_the_time_went(slow: str) -> None:
    def told() -> None:
        times = orderctl_json("trace", slow)["milliseconds"]["ending"]
        assert times["outside"] >= 1000
        assert min(times[name] for name in ("rules", "outbox", "topic")) > 0

    eventually(told)
    drawn = orderctl("trace", slow).stdout
    assert "where the time went" in drawn
    assert "waiting in an outbox" in drawn


def test_a_replay_is_a_trace_of_its_own(saga: Saga, slow: str) -> None:
    """Its steps are in it, and nothing is added to the traces of the orders it reads again."""
    until(lambda: caught_up(saga.settings, *GROUPS), "the order's last event to be read by all")
    began = time.time() * 1e6
    done = orderctl("replay", "--topic", "email.events", "--from-beginning")
    assert done.returncode == 0, done.stderr
    (trace_id,) = re.findall(r"^trace ([0-9a-f]{32})$", done.stderr, re.MULTILINE)

    def told() -> None:
        found = spans_of(saga.shop.jaeger, trace_id)
        (root,) = (span for span in found if span.parent_id is None)
        assert root.name == "replay"
        steps = [span for span in found if span.parent_id == root.span_id]
        assert {span.name for span in steps} >= {"pausing", "moving", "replaying"}

    eventually(told)
    of_the_order = spans_of(saga.shop.jaeger, saga.shop.order(slow)["trace_id"])
    assert all(span.start < began for span in of_the_order)
