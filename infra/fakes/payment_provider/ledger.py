"""The provider's durable ledger: its tables, the log of requests, and pages for readers."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from infra.fakes.clock import now_text
from infra.fakes.durable import DurableFile

SCHEMA = """
CREATE TABLE IF NOT EXISTS charges (
  key        TEXT PRIMARY KEY,
  charge_id  TEXT NOT NULL UNIQUE,
  amount     INTEGER,
  currency   TEXT,
  token      TEXT,
  reference  TEXT,
  status     TEXT NOT NULL CHECK (status IN ('processing', 'captured', 'declined', 'voided')),
  reason     TEXT,
  settles_at TEXT,
  created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS refunds (
  key        TEXT PRIMARY KEY,
  refund_id  TEXT NOT NULL UNIQUE,
  charge_key TEXT NOT NULL REFERENCES charges (key),
  amount     INTEGER NOT NULL,
  status     TEXT NOT NULL CHECK (status IN ('refunded', 'failed')),
  reason     TEXT,
  created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS entries (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  kind       TEXT NOT NULL CHECK (kind IN ('capture', 'refund')),
  charge_key TEXT NOT NULL REFERENCES charges (key),
  refund_key TEXT UNIQUE REFERENCES refunds (key),
  amount     INTEGER NOT NULL CHECK (amount > 0),
  currency   TEXT NOT NULL,
  reference  TEXT NOT NULL,
  at         TEXT NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS one_capture ON entries (charge_key) WHERE kind = 'capture';
CREATE TABLE IF NOT EXISTS notices (
  charge_key TEXT PRIMARY KEY REFERENCES charges (key),
  webhook_id TEXT NOT NULL UNIQUE,
  sent_at    TEXT
);
CREATE TABLE IF NOT EXISTS requests (
  seq    INTEGER PRIMARY KEY AUTOINCREMENT,
  at     TEXT NOT NULL,
  method TEXT NOT NULL,
  path   TEXT NOT NULL,
  key    TEXT NOT NULL,
  answer INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS requests_by_key ON requests (key, path, answer);
"""


@dataclass(frozen=True, slots=True)
class Reply:
    """A status and a body for the client; ``first`` when this request made the record."""

    status: int
    body: dict[str, Any]
    first: bool = False


Operation = Callable[[sqlite3.Connection], Reply]


class Ledger:
    """The ledger file. An answer is given only after what it tells is on disk."""

    def __init__(self, directory: Path) -> None:
        """Open or create the ledger in ``directory``."""
        self.file = DurableFile(directory / "payment-provider.sqlite3", SCHEMA)

    async def ask(self, method: str, path: str, key: str, operation: Operation) -> Reply:
        """Run ``operation`` and log the request under ``key``, in one transaction."""
        return await self.file.run(partial(_ask, method, path, key, operation))


def _ask(
    method: str, path: str, key: str, operation: Operation, connection: sqlite3.Connection
) -> Reply:
    reply = operation(connection)
    connection.execute(
        "INSERT INTO requests (at, method, path, key, answer) VALUES (?, ?, ?, ?, ?)",
        (now_text(), method, path, key, reply.status),
    )
    return reply


def refused_so_far(connection: sqlite3.Connection, path: str, key: str) -> int:
    """How often a request under ``key`` was answered with 503."""
    row = connection.execute(
        "SELECT count(*) FROM requests WHERE key = ? AND path = ? AND answer = 503", (key, path)
    ).fetchone()
    return int(row[0])


def error(status: int, code: str, detail: str) -> Reply:
    """A refusal: a word for programs and a sentence for people."""
    return Reply(status, {"error": code, "detail": detail})


def page_of_entries(connection: sqlite3.Connection, after: int, limit: int) -> dict[str, Any]:
    """Money that moved, oldest first, after entry number ``after``."""
    rows = connection.execute(
        "SELECT seq, kind, charge_key, refund_key, amount, currency, reference, at"
        " FROM entries WHERE seq > ? ORDER BY seq LIMIT ?",
        (after, limit),
    )
    return _page("entries", rows, limit)


def page_of_requests(
    connection: sqlite3.Connection, key: str | None, after: int, limit: int
) -> dict[str, Any]:
    """Requests in the order they were answered, all or those under one ``key``."""
    rows = connection.execute(
        "SELECT seq, at, method, path, key, answer FROM requests"
        " WHERE seq > ? AND (? IS NULL OR key = ?) ORDER BY seq LIMIT ?",
        (after, key, key, limit),
    )
    return _page("requests", rows, limit)


def _page(name: str, rows: sqlite3.Cursor, limit: int) -> dict[str, Any]:
    found = [dict(row) for row in rows]
    return {name: found, "next_after": found[-1]["seq"] if len(found) == limit else None}
