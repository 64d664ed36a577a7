"""Cases from the field: a trace from the HTTP request to the mail, and silence when idle."""

import time
from uuid import uuid4

from infra.names import SERVICES
from services.orderctl.verify.quiet import wait_for_quiet
from services.orderctl.waterfall import Span
from tests.saga.support.saga import Saga
from tests.saga.support.traces import chain, roots_since, spans_of
from tests.saga.support.wait import eventually

PATH = [
    "order: POST /orders",
    "order: send order.events",
    "inventory: process order.events",
    "inventory: send inventory.events",
    "payment: process inventory.events",
    "payment: job charge",
    "payment: send payment.events",
    "order: process payment.events",
    "order: send order.events",
    "email: process order.events",
    "email: job mail_confirmed",
    "email: send email.events",
]
PROVIDER = [*PATH[:6], "payment: POST", "payment-provider: POST /charges"]
LAST = {(service, "process email.events") for service in ("analytics", "projector")}
"""Handlers of the last event. No record follows it, so a span that ended only with the next poll
would never arrive. Each process exports its spans in its own time."""
IDLE_SECONDS = 5.0
"""Twenty empty polls of each consumer, and as many looks for a job."""


def test_c62_one_trace_from_the_request_to_the_mail(saga: Saga) -> None:
    trace_id, span_id = uuid4().hex, uuid4().hex[:16]
    answer = saga.post(saga.body(), {"traceparent": f"00-{trace_id}-{span_id}-01"})
    accepted = answer.json()
    assert accepted["trace_id"] == trace_id
    assert trace_id in accepted["trace_url"]
    order_id = accepted["order_id"]
    assert saga.ended(order_id) == "confirmed"
    saga.wait_for(order_id, "EmailSent")

    headers = [read.record.headers for read in saga.topics.of(order_id)]
    assert len(headers) == 5
    assert {header["traceparent"].split("-")[1] for header in headers} == {trace_id}
    assert saga.order(order_id)["trace_id"] == trace_id

    def whole() -> None:
        found = spans_of(saga.shop.jaeger, trace_id)
        assert {(span.service, span.name) for span in found} >= LAST
        chains = [chain(found, span) for span in found]
        assert PATH in chains
        assert PROVIDER in chains
        top = [span for span in found if span.name == "POST /orders"]
        assert [span.parent_id for span in top] == [span_id]

    eventually(whole)


def test_c62_no_spans_when_nothing_happens(saga: Saga) -> None:
    assert wait_for_quiet(saga.settings, 60) is None
    begin = int(time.time() * 1_000_000)

    def begun() -> list[Span]:
        return [
            span for service in SERVICES for span in roots_since(saga.shop.jaeger, service, begin)
        ]

    deadline = time.monotonic() + IDLE_SECONDS
    while time.monotonic() < deadline:
        assert begun() == []
        time.sleep(0.5)
