"""The mail a customer reads, and what is refused in its headers."""

from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

import pytest

from services.email.mail import InvalidContact, build
from services.email.store import Contact
from tests.unit.ruleset import ORDER

SAID: dict[str, Any] = {"customer_id": "c-1", "total": 4205, "currency": "EUR", "reason": ""}


def contact(name: str = "Ada Lovelace", address: str = "ada@shop.example") -> Contact:
    """A contact as it was stored."""
    return Contact("demo", "c-1", name, address)


def on_the_wire(mail: EmailMessage) -> EmailMessage:
    """The mail as the other side reads it."""
    read = message_from_bytes(mail.as_bytes(), policy=policy.default)
    assert isinstance(read, EmailMessage)
    return read


def test_the_headers_name_order_kind_and_customer() -> None:
    mail = on_the_wire(build(ORDER, "confirmed", SAID, contact()))
    assert mail["Message-ID"] == f"<{ORDER}.confirmed@order-saga.example>"
    assert mail["X-Order-Id"] == ORDER
    assert mail["To"] == "Ada Lovelace <ada@shop.example>"
    assert mail["From"] == "Order Saga <shop@order-saga.example>"
    assert mail["Subject"] == "Your order is confirmed"
    assert mail["Date"].datetime.tzinfo is not None


def test_the_same_mail_has_the_same_message_id() -> None:
    ids = {build(ORDER, "cancelled", SAID, contact())["Message-ID"] for _ in range(3)}
    assert ids == {f"<{ORDER}.cancelled@order-saga.example>"}


@pytest.mark.parametrize(
    ("total", "currency", "shown"),
    [
        (4205, "EUR", "42.05 EUR"),
        (5, "EUR", "0.05 EUR"),
        (4205, "JPY", "4205 JPY"),
        (4205, "KWD", "4.205 KWD"),
        (10**15, "USD", "10000000000000.00 USD"),
    ],
)
def test_the_total_is_in_whole_units(total: int, currency: str, shown: str) -> None:
    said = {**SAID, "total": total, "currency": currency}
    text = build(ORDER, "confirmed", said, contact()).get_content()
    assert f"Your order over {shown} is confirmed." in text


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        ("out_of_stock", "We do not have enough in stock."),
        ("payment_declined", "Your payment was declined."),
        ("customer_request", "You asked us to cancel it."),
        ("payment_timeout", "Your payment did not arrive in time."),
        ("a_later_reason", "is cancelled.\n"),
    ],
)
def test_a_cancelled_order_says_why(reason: str, sentence: str) -> None:
    text = build(ORDER, "cancelled", {**SAID, "reason": reason}, contact()).get_content()
    assert "cancelled" in text
    assert sentence in text


def test_a_name_of_any_alphabet_arrives() -> None:
    mail = on_the_wire(build(ORDER, "confirmed", SAID, contact("Zoë Иванова 山田")))
    assert mail["To"].addresses[0].display_name == "Zoë Иванова 山田"
    assert "Hello Zoë Иванова 山田," in mail.get_content()


@pytest.mark.parametrize(
    "name",
    [
        "Eve\r\nBcc: all@shop.example",
        "Eve\nBcc: all@shop.example",
        "Eve\rSubject: won",
        "Eve\x00",
        "Eve\u2028Bcc: all@shop.example",
        "Eve\x0bBcc: all@shop.example",
        "=?utf-8?q?Eve=0D=0ABcc:_all?=",
    ],
)
def test_c64_a_line_break_in_a_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidContact):
        build(ORDER, "confirmed", SAID, contact(name))


@pytest.mark.parametrize(
    "address", ["", "ada", "ada@shop.example\r\nBcc: all@shop.example", "a b@c.example", "a@@b"]
)
def test_c64_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(InvalidContact):
        build(ORDER, "confirmed", SAID, contact(address=address))


@pytest.mark.parametrize("name", ['"Eve" <eve@x.example>', "Eve, Bob", "Eve <eve@x.example>"])
def test_c64_a_name_stays_a_name(name: str) -> None:
    mail = on_the_wire(build(ORDER, "confirmed", SAID, contact(name)))
    assert [to.addr_spec for to in mail["To"].addresses] == ["ada@shop.example"]
    assert mail["Bcc"] is None
