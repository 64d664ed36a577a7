"""The text of a mail: what a customer reads about an ending of an order."""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from email import policy
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Any

from iso4217 import Currency

from services.email.domain import CONFIRMED, message_id
from services.email.store import Contact

SENDER = Address("Order Saga", "shop", "order-saga.example")

REASONS: Mapping[str, str] = {
    "out_of_stock": "We do not have enough in stock.",
    "payment_declined": "Your payment was declined.",
    "customer_request": "You asked us to cancel it.",
    "payment_timeout": "Your payment did not arrive in time.",
}


# A header of ours is never folded: some readers keep the break before a long Message-ID.
_POLICY = policy.SMTP.clone(max_line_length=200)


class InvalidContact(Exception):
    """A contact that no mail can be addressed to. It carries no text: that would be personal."""


def is_plain_name(name: str) -> bool:
    """True for one line of visible text that no reader decodes to anything else.

    A line break, plain or in an encoded word (``=?...?=``), would let a name write headers.
    """
    return name.isprintable() and not name.isspace() and name != "" and "=?" not in name


def build(key: str, kind: str, said: Mapping[str, Any], contact: Contact) -> EmailMessage:
    """The mail of this kind about the order ``key``; the same Message-ID whenever it is built.

    Raises `InvalidContact` for a name or an address that has no place in a header.
    """
    mail = EmailMessage(_POLICY)
    mail["Message-ID"] = message_id(key, kind)
    mail["Date"] = format_datetime(datetime.now(UTC))
    mail["From"] = SENDER
    mail["To"] = _recipient(contact)
    mail["Subject"] = f"Your order is {kind}"
    mail["X-Order-Id"] = key
    mail.set_content(_text(key, kind, said, contact.name))
    return mail


def _recipient(contact: Contact) -> Address:
    if not is_plain_name(contact.name):
        raise InvalidContact
    try:
        return Address(contact.name, addr_spec=contact.address)
    except (ValueError, IndexError, MessageError):
        raise InvalidContact from None


def _text(key: str, kind: str, said: Mapping[str, Any], name: str) -> str:
    amount = _amount(said["total"], said["currency"])
    if kind == CONFIRMED:
        news = f"Your order over {amount} is confirmed. Thank you!"
    else:
        why = REASONS.get(said["reason"], "")
        news = f"Your order over {amount} is cancelled. {why}".strip()
        news += "\nIf you were charged, the money is on its way back to you."
    return f"Hello {name},\n\n{news}\n\nOrder {key}\n"


def _amount(minor_units: int, currency: str) -> str:
    digits = Currency(currency).exponent or 0
    return f"{Decimal(minor_units).scaleb(-digits):.{digits}f} {currency}"
