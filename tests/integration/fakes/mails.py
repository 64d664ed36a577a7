"""What a mailing service does to the sink, in short."""

import smtplib
from email.message import EmailMessage
from typing import Any

import httpx

from tests.integration.fakes.processes import Running


def mail(
    to: str, message_id: str, order_id: str | None = None, text: str = "Hello"
) -> EmailMessage:
    """A small plain mail."""
    message = EmailMessage()
    message["From"] = "shop@order-saga.example"
    message["To"] = to
    message["Subject"] = "Your order"
    message["Message-ID"] = message_id
    if order_id:
        message["X-Order-Id"] = order_id
    message.set_content(text)
    return message


def send(sink: Running, message: EmailMessage, timeout: float = 10) -> int:
    """Send over a connection of its own; returns the SMTP answer's code."""
    try:
        with smtplib.SMTP("127.0.0.1", sink.smtp_port, timeout=timeout) as client:
            client.send_message(message)
    except smtplib.SMTPRecipientsRefused as refused:
        return next(iter(refused.recipients.values()))[0]
    except smtplib.SMTPResponseException as answer:
        return answer.smtp_code
    return 250


def stored(sink: Running, **query: Any) -> list[dict[str, Any]]:
    """The mails the sink shows for a query."""
    page: dict[str, Any] = httpx.get(f"{sink.url}/messages", params=query).json()
    messages: list[dict[str, Any]] = page["messages"]
    return messages
