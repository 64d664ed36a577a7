"""Whom an ending is told, and what an answer leads to."""

from datetime import timedelta

import pytest

from services.eventkit.decision import Facts
from services.order import webhooks
from services.order.handlers import HANDLERS
from services.order.webhooks import (
    ATTEMPTS,
    Delivery,
    Disabled,
    OldSecret,
    Webhook,
    answered,
    pause,
    rotated,
)
from tests.events import KEY, NOW, event
from tests.unit.order.test_domain import DATA, apply

DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)
MESSAGE = Delivery("msg_1", "wh_1", "demo", KEY, "order.confirmed", {}, NOW, NOW)


def test_an_ending_is_told_to_each_webhook_that_wants_it() -> None:
    confirmed = Webhook("wh_a0000001", "demo", "https://a.example", ("order.confirmed",), "s")
    cancelled = Webhook("wh_b0000002", "demo", "https://b.example", ("order.cancelled",), "s")
    order = apply(None, "PlaceOrder").state
    captured = event("PaymentCaptured", DATA["PaymentCaptured"])
    facts = Facts(NOW, {webhooks.of_tenant(captured.tenant_id): (confirmed, cancelled)})
    decision = HANDLERS["PaymentCaptured"].rule(order, captured, facts)
    again = HANDLERS["PaymentCaptured"].rule(order, captured, facts)
    (delivery,) = decision.related.values()
    assert (delivery.webhook_id, delivery.event_type) == ("wh_a0000001", "order.confirmed")
    assert delivery.payload["data"]["order_id"] == KEY
    assert [job.kind for job in decision.jobs] == ["webhook"]
    assert again == decision, "a rerun must say the same message under the same id"


def test_progress_that_is_no_ending_is_told_to_nobody() -> None:
    everything = Webhook("wh_a0000001", "demo", "https://a.example", webhooks.EVENTS, "s")
    facts = Facts(NOW, {webhooks.of_tenant("demo"): (everything,)})
    order = apply(None, "PlaceOrder").state
    reserved = event("StockReserved", DATA["StockReserved"])
    assert not HANDLERS["StockReserved"].rule(order, reserved, facts).related


@pytest.mark.parametrize(
    ("outcome", "status"),
    [("delivered", "delivered"), ("gone", "dead"), ("cancelled", "cancelled")],
)
def test_an_answer_can_end_a_delivery(outcome: str, status: str) -> None:
    decision = answered(MESSAGE, {"outcome": outcome}, NOW)
    assert (decision.outcome, decision.jobs) == (status, ())
    ended = [row.webhook_id for row in decision.related.values() if isinstance(row, Disabled)]
    assert ended == (["wh_1"] if outcome == "gone" else [])


def test_a_failure_is_tried_again_and_given_up_after_about_a_day() -> None:
    delivery, seconds = MESSAGE, 0.0
    while delivery.status == webhooks.PENDING:
        decision = answered(delivery, {"outcome": "failed", "answer": 500}, NOW)
        delivery = decision.related[webhooks.delivery_name("msg_1")]
        seconds += sum((job.run_at - NOW).total_seconds() for job in decision.jobs if job.run_at)
    assert (delivery.status, delivery.attempts) == ("dead", ATTEMPTS)
    assert 6 * 3600 < seconds < 48 * 3600
    assert answered(delivery, {"outcome": "delivered"}, NOW).outcome == "ignored:delivery_over"


def test_pauses_grow_differ_between_messages_and_heed_the_receiver() -> None:
    assert pause("msg_1", 3) == pause("msg_1", 3) != pause("msg_2", 3)
    assert all(0 < pause("msg_1", attempt) <= webhooks.LONGEST_PAUSE for attempt in range(30))
    decision = answered(MESSAGE, {"outcome": "failed", "answer": 429, "retry_after": 900.0}, NOW)
    assert decision.jobs[0].run_at == NOW + timedelta(seconds=900)


def test_a_rotation_asked_for_again_leaves_the_receivers_secret_valid() -> None:
    first = Webhook("wh_1", "demo", "https://a.example", webhooks.EVENTS, "first")
    lost = rotated(first, "lost", NOW, DAY)
    again = rotated(lost, "again", NOW + MINUTE, DAY)
    assert again.secret == "again"
    assert again.old_secrets == (
        OldSecret("lost", NOW + MINUTE + DAY),
        OldSecret("first", NOW + DAY),
    )


def test_a_rotation_forgets_what_has_ended_and_can_end_all() -> None:
    first = Webhook("wh_1", "demo", "https://a.example", webhooks.EVENTS, "first")
    second = rotated(first, "second", NOW, DAY)
    assert [old.secret for old in rotated(second, "third", NOW + DAY, DAY).old_secrets] == [
        "second"
    ]
    shorter = rotated(second, "third", NOW, MINUTE)
    assert {old.until for old in shorter.old_secrets} == {NOW + MINUTE}
    assert rotated(second, "third", NOW, timedelta(0)).old_secrets == ()
