"""Where a saga's time went, told from its spans."""

import pytest

from services.orderctl.breakdown import Times, everything, way_to_the_ending
from services.orderctl.waterfall import Span

MS = 1000


def span(
    id_: str, parent: str | None, name: str, service: str, start: float, took: float, **more: object
) -> Span:
    return Span(id_, parent, name, service, int(start * MS), int(took * MS), **more)  # type: ignore[arg-type]


SAGA = [
    span("a", None, "POST /orders", "order", 0, 10, kind="server"),
    span("b", "a", "send order.events", "order", 2, 6, kind="producer"),
    span("c", "b", "process order.events", "payment", 70, 5, outbox_ms=50.0, topic_ms=10.0),
    span("d", "c", "job charge", "payment", 95, 40),
    span("e", "d", "POST", "payment", 96, 30, kind="client"),
    span("f", "e", "POST /charges", "payment-provider", 97, 28, kind="server"),
    span("g", "c", "job charge", "payment", 200, 30),
    span("h", "g", "POST", "payment", 201, 20, kind="client"),
    span("i", "g", "send payment.events", "payment", 225, 3, kind="producer"),
    span("j", "i", "process payment.events", "order", 260, 4, outbox_ms=20.0, topic_ms=5.0),
    span("k", "j", "send order.events", "order", 261, 2, kind="producer"),
    span("l", "k", "process order.events", "email", 300, 6, outbox_ms=30.0, topic_ms=8.0),
]


def test_the_way_to_the_ending_leaves_out_what_it_did_not_wait_for() -> None:
    found = way_to_the_ending(SAGA)
    expected = Times(
        rules=(10 + 5 + 10 + 4) * MS,
        outbox=(50 + 20) * MS,
        topic=(10 + 5) * MS,
        job=65 * MS,  # from the end of the first attempt
        outside=20 * MS,
    )
    assert found == expected


def test_all_branches_count_each_span_and_each_attempt_once() -> None:
    found = everything(SAGA)
    assert found.outside == 50 * MS
    assert found.job == (20 + 65) * MS
    assert found.outbox == 100 * MS
    assert found.rules == (10 + 5 + 10 + 10 + 4 + 6) * MS


def test_a_trace_without_an_ending_has_no_way_to_it() -> None:
    assert way_to_the_ending(SAGA[2:5]) == Times()
    assert everything([]).as_milliseconds() == pytest.approx(
        dict.fromkeys(("rules", "outbox", "topic", "job", "outside"), 0)
    )
