"""Refunds: each under a key of its own, never more in all than was captured."""

import sqlite3
from typing import Any
from uuid import uuid4

from infra.fakes.clock import now_text
from infra.fakes.payment_provider.asks import RefundAsk
from infra.fakes.payment_provider.charges import find_charge
from infra.fakes.payment_provider.ledger import Reply, error, refused_so_far
from infra.fakes.payment_provider.tokens import behaviour_of

PATH = "/refunds"
REFUSED = "refund_refused"


def make_refund(connection: sqlite3.Connection, key: str, ask: RefundAsk) -> Reply:
    """Pay back and record it; a repeat finds the record.

    201, or 402 when the token has refunds fail; 404 without such a charge; 422 when ``key`` was
    used for another content or when it is more than is left; 503 when the token asks for it.
    """
    found = _find(connection, key)
    if found is not None:
        return _repeat(found, ask)
    charge = find_charge(connection, ask.charge_key)
    if charge is None:
        return error(404, "unknown_charge", "No charge was made under this key.")
    if charge["status"] != "captured":
        return error(422, "not_captured", f"The charge is {charge['status']}, not captured.")
    behaviour = behaviour_of(charge["token"])
    if refused_so_far(connection, PATH, key) < behaviour.refund_flaky:
        return error(503, "unavailable", "The token asks for this answer: try again.")
    left = charge["amount"] - _paid_back(connection, ask.charge_key)
    if ask.amount > left:
        return error(422, "more_than_captured", f"Only {left} is left to pay back.")
    fails = _refused(connection, ask.charge_key) < behaviour.refund_fails
    return _record(connection, key, charge, ask.amount, fails=fails)


def look_up(connection: sqlite3.Connection, key: str) -> Reply:
    """200 with the refund, or 404."""
    found = _find(connection, key)
    if found is None:
        return error(404, "unknown_refund", "No refund was made under this key.")
    return Reply(200, _body(found))


def _repeat(refund: sqlite3.Row, ask: RefundAsk) -> Reply:
    if (refund["charge_key"], refund["amount"]) != (ask.charge_key, ask.amount):
        return error(422, "key_reused", "This key was used for a refund with another content.")
    return _reply(refund)


def _record(
    connection: sqlite3.Connection, key: str, charge: sqlite3.Row, amount: int, *, fails: bool
) -> Reply:
    at = now_text()
    status, reason = ("failed", REFUSED) if fails else ("refunded", None)
    connection.execute(
        "INSERT INTO refunds (key, refund_id, charge_key, amount, status, reason, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (key, f"re_{uuid4().hex}", charge["key"], amount, status, reason, at),
    )
    if not fails:
        connection.execute(
            "INSERT INTO entries"
            " (kind, charge_key, refund_key, amount, currency, reference, at)"
            " VALUES ('refund', ?, ?, ?, ?, ?, ?)",
            (charge["key"], key, amount, charge["currency"], charge["reference"], at),
        )
    recorded = _find(connection, key)
    if recorded is None:
        raise LookupError(f"no refund under {key}")
    return _reply(recorded)


def _paid_back(connection: sqlite3.Connection, charge_key: str) -> int:
    row = connection.execute(
        "SELECT coalesce(sum(amount), 0) FROM entries WHERE kind = 'refund' AND charge_key = ?",
        (charge_key,),
    ).fetchone()
    return int(row[0])


def _refused(connection: sqlite3.Connection, charge_key: str) -> int:
    row = connection.execute(
        "SELECT count(*) FROM refunds WHERE status = 'failed' AND charge_key = ?", (charge_key,)
    ).fetchone()
    return int(row[0])


def _find(connection: sqlite3.Connection, key: str) -> sqlite3.Row | None:
    row: sqlite3.Row | None = connection.execute(
        "SELECT refunds.*, charges.currency FROM refunds"
        " JOIN charges ON charges.key = refunds.charge_key WHERE refunds.key = ?",
        (key,),
    ).fetchone()
    return row


def _reply(refund: sqlite3.Row) -> Reply:
    return Reply(402 if refund["status"] == "failed" else 201, _body(refund))


def _body(refund: sqlite3.Row) -> dict[str, Any]:
    return {
        "refund_key": refund["key"],
        "refund_id": refund["refund_id"],
        "charge_key": refund["charge_key"],
        "status": refund["status"],
        "amount": refund["amount"],
        "currency": refund["currency"],
        "reason": refund["reason"],
    }
