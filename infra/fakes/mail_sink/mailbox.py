"""The sink's durable mailbox: every delivery it was asked for and every mail it accepted."""

import sqlite3
from dataclasses import dataclass
from email import message_from_bytes
from email.header import decode_header, make_header
from email.message import Message
from functools import partial
from pathlib import Path
from typing import Any

from infra.fakes.clock import now_text
from infra.fakes.durable import DurableFile

SCHEMA = """
CREATE TABLE IF NOT EXISTS messages (
  seq         INTEGER PRIMARY KEY AUTOINCREMENT,
  message_id  TEXT,
  order_id    TEXT,
  recipient   TEXT NOT NULL,
  sender      TEXT NOT NULL,
  subject     TEXT,
  text        TEXT NOT NULL,
  received_at TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS messages_by_order ON messages (order_id);
CREATE INDEX IF NOT EXISTS messages_by_recipient ON messages (recipient);
CREATE TABLE IF NOT EXISTS deliveries (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  at         TEXT NOT NULL,
  message_id TEXT,
  recipient  TEXT NOT NULL,
  answer     INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS deliveries_by_recipient ON deliveries (recipient, message_id);
"""

_COUNT = """
SELECT count(*) FROM messages
WHERE (:to IS NULL OR recipient = :to) AND (:order_id IS NULL OR order_id = :order_id)
"""
_PAGE = """
SELECT seq, message_id, order_id, recipient AS "to", sender AS "from", subject, text, received_at
FROM messages
WHERE (:to IS NULL OR recipient = :to) AND (:order_id IS NULL OR order_id = :order_id)
  AND seq > :after
ORDER BY seq LIMIT :limit
"""


@dataclass(frozen=True, slots=True)
class Mail:
    """A mail as it arrived, for one recipient."""

    recipient: str
    sender: str
    message_id: str | None
    order_id: str | None
    subject: str | None
    text: str


def read_mail(content: bytes, sender: str, recipient: str) -> Mail:
    """Read what the sink shows of a mail; a mail without a text part has an empty text."""
    # The older parser: a tenth of the time of the newer one, which reads every header's grammar.
    message = message_from_bytes(content)
    return Mail(
        recipient=recipient,
        sender=sender,
        message_id=_header(message["Message-ID"]),
        order_id=_header(message["X-Order-Id"]),
        subject=_header(message["Subject"]),
        text=_text(message),
    )


def _header(value: str | None) -> str | None:
    return None if value is None else str(make_header(decode_header(value))).strip()


def _text(message: Message) -> str:
    for part in message.walk():
        content = part.get_payload(decode=True)
        if part.get_content_type() == "text/plain" and isinstance(content, bytes):
            return content.decode(part.get_content_charset("utf-8"), errors="replace")
    return ""


class Mailbox:
    """The mailbox file. A copy is accepted only after it is on disk; copies are not merged."""

    def __init__(self, directory: Path) -> None:
        """Open or create the mailbox in ``directory``."""
        self.file = DurableFile(directory / "mail-sink.sqlite3", SCHEMA)

    async def deliver(self, mail: Mail, flaky: int) -> bool:
        """Keep the mail; False for the first ``flaky`` deliveries of it, which keep nothing."""
        return await self.file.run(partial(_deliver, mail, flaky))

    async def page(
        self, recipient: str | None, order_id: str | None, after: int, limit: int
    ) -> dict[str, Any]:
        """Mails in the order they arrived after number ``after``, and how many match in all."""
        return await self.file.run(partial(_page, recipient, order_id, after, limit))


def _deliver(mail: Mail, flaky: int, connection: sqlite3.Connection) -> bool:
    refused: int = connection.execute(
        "SELECT count(*) FROM deliveries WHERE recipient = ? AND message_id IS ? AND answer = 451",
        (mail.recipient, mail.message_id),
    ).fetchone()[0]
    accepted = refused >= flaky
    at = now_text()
    connection.execute(
        "INSERT INTO deliveries (at, message_id, recipient, answer) VALUES (?, ?, ?, ?)",
        (at, mail.message_id, mail.recipient, 250 if accepted else 451),
    )
    if accepted:
        connection.execute(
            "INSERT INTO messages"
            " (message_id, order_id, recipient, sender, subject, text, received_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                mail.message_id,
                mail.order_id,
                mail.recipient,
                mail.sender,
                mail.subject,
                mail.text,
                at,
            ),
        )
    return accepted


def _page(
    recipient: str | None,
    order_id: str | None,
    after: int,
    limit: int,
    connection: sqlite3.Connection,
) -> dict[str, Any]:
    values = {"to": recipient, "order_id": order_id, "after": after, "limit": limit}
    total = connection.execute(_COUNT, values).fetchone()[0]
    rows = connection.execute(_PAGE, values)
    found = [dict(row) for row in rows]
    next_after = found[-1]["seq"] if len(found) == limit else None
    return {"messages": found, "total": total, "next_after": next_after}
