"""Sending a mail: what each answer of a mail server comes to."""

import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from services.email.jobs import Calls
from services.email.smtp import MailServer
from services.email.store import Contact
from services.eventkit.jobs import JobContext, Postpone, Refused, RetryLater
from tests.integration.email.scripted import END_OF_DATA, GREETING, SILENCE, ScriptedServer
from tests.integration.fakes.mails import stored
from tests.integration.fakes.processes import Running, free_port

SAID = {"customer_id": "c-1", "total": 4200, "currency": "EUR", "reason": ""}
ADDRESS = "ada@shop.example"
TIMEOUT = 0.5


@contextmanager
def scripted(script: Mapping[str, str]) -> Iterator[ScriptedServer]:
    """A scripted server for the time of a test."""
    server = ScriptedServer(script)
    yield server
    server.close()


def send(port: int, address: str, order_id: str = "o-1", timeout: float = TIMEOUT) -> None:
    """Do the job of a confirmed order's mail."""
    contact = Contact("demo", "c-1", "Ada", address)
    calls = Calls(MailServer("127.0.0.1", port, timeout), lambda *_: contact)
    calls.send_mail("confirmed", JobContext(order_id, SAID, 1, "demo"))


def test_a_taken_mail_is_in_the_mailbox(sink: Running) -> None:
    send(sink.smtp_port, ADDRESS, "o-taken")
    (mail,) = stored(sink, order_id="o-taken")
    assert mail["to"] == ADDRESS
    assert mail["message_id"] == "<o-taken.confirmed@order-saga.example>"
    assert "42.00 EUR" in mail["text"]


def test_a_refused_recipient_is_final(sink: Running) -> None:
    with pytest.raises(Refused, match=r"^smtp_550$"):
        send(sink.smtp_port, "refuse.ada@shop.example")


def test_a_server_that_is_not_ready_is_asked_again(sink: Running) -> None:
    with pytest.raises(RetryLater):
        send(sink.smtp_port, "flaky-1.ada@shop.example", "o-flaky")
    send(sink.smtp_port, "flaky-1.ada@shop.example", "o-flaky")
    assert len(stored(sink, order_id="o-flaky")) == 1


def test_c64_a_mail_taken_without_an_answer_comes_again_with_its_id(sink: Running) -> None:
    address = "slow-1500.ada@shop.example"
    with pytest.raises(RetryLater):
        send(sink.smtp_port, address, "o-slow")
    send(sink.smtp_port, address, "o-slow", timeout=5)
    ids = [mail["message_id"] for mail in stored(sink, order_id="o-slow")]
    assert ids == ["<o-slow.confirmed@order-saga.example>"] * 2


def test_an_unknown_contact_is_final(sink: Running) -> None:
    calls = Calls(MailServer("127.0.0.1", sink.smtp_port, TIMEOUT), lambda *_: None)
    with pytest.raises(Refused, match=r"^unknown_contact$"):
        calls.send_mail("confirmed", JobContext("o-nobody", SAID, 1, "demo"))
    assert stored(sink, order_id="o-nobody") == []


def test_an_invalid_contact_is_final(sink: Running) -> None:
    with pytest.raises(Refused, match=r"^invalid_contact$"):
        send(sink.smtp_port, "not an address", "o-invalid")
    assert stored(sink, order_id="o-invalid") == []


def test_a_server_that_is_down_costs_no_attempt() -> None:
    with pytest.raises(Postpone):
        send(free_port(), ADDRESS)


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ({GREETING: "421 too busy"}, RetryLater),
        ({GREETING: "554 no service"}, RetryLater),
        ({GREETING: SILENCE}, RetryLater),
        ({"MAIL": "451 not now"}, RetryLater),
        ({"MAIL": "550 go away"}, RetryLater),
        ({"RCPT": f"450 {ADDRESS} is busy"}, RetryLater),
        ({"RCPT": f"550 {ADDRESS} is unknown"}, Refused),
        ({"RCPT": SILENCE}, RetryLater),
        ({"DATA": "451 not now"}, RetryLater),
        ({"DATA": "554 no"}, Refused),
        ({END_OF_DATA: f"452 {ADDRESS} is full"}, RetryLater),
        ({END_OF_DATA: "552 too large"}, Refused),
        ({END_OF_DATA: SILENCE}, RetryLater),
    ],
)
def test_every_answer_has_its_meaning_and_tells_no_address(
    script: Mapping[str, str], error: type[Exception]
) -> None:
    with scripted(script) as server, pytest.raises(error) as raised:
        send(server.port, ADDRESS)
    assert ADDRESS not in "".join(traceback.format_exception(raised.value))


@pytest.mark.parametrize("farewell", ["500 rude", SILENCE])
def test_c64_a_taken_mail_is_taken_however_the_server_parts(farewell: str) -> None:
    with scripted({"QUIT": farewell}) as server:
        send(server.port, ADDRESS)
        assert server.taken == 1
