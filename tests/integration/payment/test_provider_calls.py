"""What payment's jobs make of a real provider's answers, its silence and its absence."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from uuid import uuid4

import httpx
import pytest
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_fixed

from services.eventkit.jobs import JobContext, Postpone, Refused, RetryLater
from services.payment.domain import payment_key, refund_key
from services.payment.jobs import Calls
from services.payment.provider import Provider
from tests.integration.fakes.processes import free_port
from tests.integration.payment.books import asked, entries


@pytest.fixture
def order() -> str:
    return str(uuid4())


def charging(order: str, token: str, attempt: int = 1) -> JobContext:
    return JobContext(order, {"amount": 4200, "currency": "EUR", "token": token}, attempt, "demo")


def refunding(order: str, attempt: int = 1) -> JobContext:
    return JobContext(order, {"amount": 4200, "key": refund_key(order)}, attempt, "demo")


def voiding(order: str) -> JobContext:
    return JobContext(order, {}, 1, "demo")


def test_a_good_token_is_captured(calls: Calls, bank: httpx.Client, order: str) -> None:
    assert calls.charge(charging(order, "tok_ok")) == {"status": "captured", "reason": ""}
    assert entries(bank, order) == [("capture", 4200)]


@pytest.mark.parametrize(
    ("token", "reason"), [("tok_declined", "card_declined"), ("whatever", "unknown_token")]
)
def test_a_402_is_a_decline(calls: Calls, order: str, token: str, reason: str) -> None:
    assert calls.charge(charging(order, token)) == {"status": "declined", "reason": reason}


def test_c15_a_charge_that_worked_but_was_not_heard_of_is_looked_up(
    calls: Calls, bank: httpx.Client, order: str
) -> None:
    with pytest.raises(RetryLater):
        calls.charge(charging(order, "tok_timeout_then_ok"))
    assert calls.charge(charging(order, "tok_timeout_then_ok", attempt=2))["status"] == "captured"
    assert entries(bank, order) == [("capture", 4200)]
    assert asked(bank, payment_key(order)) == ["POST 201", "GET 200"]


def test_a_503_is_asked_again_after_a_look_up(calls: Calls, bank: httpx.Client, order: str) -> None:
    with pytest.raises(RetryLater):
        calls.charge(charging(order, "tok_flaky_1"))
    assert calls.charge(charging(order, "tok_flaky_1", attempt=2))["status"] == "captured"
    assert asked(bank, payment_key(order)) == ["POST 503", "GET 404", "POST 201"]


def test_a_charge_in_the_making_is_neither_made_nor_declined(calls: Calls, order: str) -> None:
    with pytest.raises(RetryLater):
        calls.charge(charging(order, "tok_slow_1500"))
    with pytest.raises(RetryLater, match="processing"):
        calls.charge(charging(order, "tok_slow_1500", attempt=2))
    with pytest.raises(RetryLater, match="409"):
        calls.void(voiding(order))
    assert _until_settled(calls, order) == {"status": "captured", "reason": ""}


@retry(
    retry=retry_if_exception_type(RetryLater),
    stop=stop_after_delay(20),
    wait=wait_fixed(0.1),
    reraise=True,
)
def _until_settled(calls: Calls, order: str) -> Any:
    return calls.void(voiding(order))


def test_a_void_stops_a_charge_that_is_still_to_arrive(
    calls: Calls, bank: httpx.Client, order: str
) -> None:
    assert calls.void(voiding(order))["status"] == "voided"
    assert calls.charge(charging(order, "tok_ok"))["status"] == "voided"
    assert entries(bank, order) == []


def test_a_void_finds_what_was_captured_or_declined(calls: Calls, order: str) -> None:
    calls.charge(charging(order, "tok_ok"))
    assert calls.void(voiding(order))["status"] == "captured"
    other = str(uuid4())
    calls.charge(charging(other, "tok_declined"))
    assert calls.void(voiding(other))["status"] == "declined"


def test_a_refund_is_paid_once_however_often_it_is_asked_for(
    calls: Calls, bank: httpx.Client, order: str
) -> None:
    calls.charge(charging(order, "tok_ok"))
    for attempt in (1, 1, 2):
        assert calls.refund(refunding(order, attempt)) == {}
    assert entries(bank, order) == [("capture", 4200), ("refund", 4200)]
    assert asked(bank, refund_key(order)) == ["POST 201", "POST 201", "GET 200"]


def test_c14_a_refund_is_asked_for_again_until_it_is_refused(calls: Calls, order: str) -> None:
    calls.charge(charging(order, "tok_ok.refund_flaky_2.refund_fails"))
    for attempt in (1, 2):
        with pytest.raises(RetryLater, match="503"):
            calls.refund(refunding(order, attempt))
    for attempt in (3, 4):
        with pytest.raises(Refused, match="refund_refused"):
            calls.refund(refunding(order, attempt))


def test_a_refund_of_what_was_never_charged_is_refused(calls: Calls, order: str) -> None:
    with pytest.raises(Refused, match="provider_answered_404"):
        calls.refund(refunding(order))


def test_a_charge_the_provider_does_not_understand_is_refused(calls: Calls, order: str) -> None:
    job = JobContext(order, {"amount": 4200, "currency": "euro", "token": "tok_ok"}, 1, "demo")
    with pytest.raises(Refused, match="provider_answered_422"):
        calls.charge(job)


def test_a_refusal_after_a_call_of_unknown_outcome_stops_the_charge(
    calls: Calls, bank: httpx.Client, order: str
) -> None:
    """The first call may still be under way when the second is refused."""
    args = {"amount": 4200, "currency": "euro", "token": "tok_ok"}
    stopped = calls.charge(JobContext(order, args, 2, "demo"))
    assert stopped == {"status": "voided", "reason": "provider_answered_422"}
    redriven = JobContext(order, args, 1, "demo", redrives=1)
    assert calls.charge(redriven)["status"] == "voided"
    assert calls.charge(charging(order, "tok_ok", 2))["status"] == "voided"
    assert entries(bank, order) == []


@pytest.mark.parametrize("status", [401, 403, 404, 409, 429])
def test_an_answer_about_us_is_none_about_the_order(order: str, status: int) -> None:
    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        asking = Calls(Provider(f"http://127.0.0.1:{server.server_port}", 5))
        with pytest.raises(RetryLater, match=str(status)):
            asking.charge(charging(order, "tok_ok"))
        server.shutdown()


def test_a_provider_that_is_away_was_not_asked(order: str) -> None:
    away = Calls(Provider(f"http://127.0.0.1:{free_port()}", 0.5))
    with pytest.raises(Postpone):
        away.charge(charging(order, "tok_ok"))
    with pytest.raises(Postpone):
        away.void(voiding(order))
