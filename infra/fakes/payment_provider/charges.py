"""Charges: opened under a key for ever, settled once, voidable until captured."""

import sqlite3
from typing import Any
from uuid import uuid4

from infra.fakes.clock import now_text
from infra.fakes.payment_provider.asks import ChargeAsk
from infra.fakes.payment_provider.ledger import Reply, error, refused_so_far
from infra.fakes.payment_provider.tokens import Behaviour, behaviour_of

PATH = "/charges"


def open_charge(connection: sqlite3.Connection, key: str, ask: ChargeAsk) -> Reply:
    """Record the charge and its result, or its being processed; a repeat finds the record.

    201 or, when declined, 402; 422 when ``key`` was used for another content; 503 when the
    token asks for it.
    """
    found = find_charge(connection, key)
    if found is not None and found["token"] is not None:
        return _repeat(found, ask)
    behaviour = behaviour_of(ask.token)
    if refused_so_far(connection, PATH, key) < behaviour.flaky:
        return error(503, "unavailable", "The token asks for this answer: try again.")
    if found is not None:
        return _fill_voided(connection, key, ask)
    _insert(connection, key, ask, behaviour)
    charge = _charge(connection, key)
    return Reply(_status_code(charge), _body(charge), first=True)


def look_up(connection: sqlite3.Connection, key: str) -> Reply:
    """200 with the charge as it stands, or 404."""
    found = find_charge(connection, key)
    if found is None:
        return error(404, "unknown_charge", "No charge was made under this key.")
    return Reply(200, _body(found))


def void(connection: sqlite3.Connection, key: str) -> Reply:
    """Stop a charge that has not been made, and say what became of it.

    A key never seen is remembered as voided, so that a charge still under way cannot land
    later. What is captured or declined stays so. 409 while it is being processed.
    """
    found = find_charge(connection, key)
    if found is None:
        _insert_voided(connection, key)
        found = _charge(connection, key)
    if found["status"] == "processing":
        return Reply(409, _body(found))
    return Reply(200, _body(found))


def settle(connection: sqlite3.Connection, key: str) -> None:
    """Give a charge that is being processed its result; nothing when it has one."""
    charge = _charge(connection, key)
    if charge["status"] == "processing":
        reason = behaviour_of(charge["token"]).decline_reason
        _finish(connection, charge, reason)


def unsettled(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """Key and due time of every charge that is being processed."""
    rows = connection.execute("SELECT key, settles_at FROM charges WHERE status = 'processing'")
    return [(row["key"], row["settles_at"]) for row in rows]


def due_of(connection: sqlite3.Connection, key: str) -> str | None:
    """When the charge is due to be settled; None when it has its result."""
    charge = _charge(connection, key)
    due: str | None = charge["settles_at"] if charge["status"] == "processing" else None
    return due


def answer(connection: sqlite3.Connection, key: str) -> Reply:
    """The answer to the request that opened the charge, as things stand now."""
    charge = _charge(connection, key)
    return Reply(_status_code(charge), _body(charge))


def find_charge(connection: sqlite3.Connection, key: str) -> sqlite3.Row | None:
    """The charge's row, or None."""
    row: sqlite3.Row | None = connection.execute(
        "SELECT * FROM charges WHERE key = ?", (key,)
    ).fetchone()
    return row


def _charge(connection: sqlite3.Connection, key: str) -> sqlite3.Row:
    found = find_charge(connection, key)
    if found is None:
        raise LookupError(f"no charge under {key}")
    return found


def _repeat(charge: sqlite3.Row, ask: ChargeAsk) -> Reply:
    if any(charge[name] != wanted for name, wanted in ask.model_dump().items()):
        return error(422, "key_reused", "This key was used for a charge with another content.")
    return Reply(_status_code(charge), _body(charge))


def _insert(connection: sqlite3.Connection, key: str, ask: ChargeAsk, behaviour: Behaviour) -> None:
    connection.execute(
        "INSERT INTO charges"
        " (key, charge_id, amount, currency, token, reference, status, settles_at, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?, 'processing', ?, ?)",
        (
            key,
            f"ch_{uuid4().hex}",
            ask.amount,
            ask.currency,
            ask.token,
            ask.reference,
            now_text(plus_ms=behaviour.slow_ms),
            now_text(),
        ),
    )
    if behaviour.slow_ms == 0:
        _finish(connection, _charge(connection, key), behaviour.decline_reason)


def _insert_voided(connection: sqlite3.Connection, key: str) -> None:
    connection.execute(
        "INSERT INTO charges (key, charge_id, status, reason, created_at)"
        " VALUES (?, ?, 'voided', 'voided', ?)",
        (key, f"ch_{uuid4().hex}", now_text()),
    )


def _fill_voided(connection: sqlite3.Connection, key: str, ask: ChargeAsk) -> Reply:
    """The charge that was voided before it arrived: keep its content, move no money."""
    connection.execute(
        "UPDATE charges SET amount = ?, currency = ?, token = ?, reference = ? WHERE key = ?",
        (ask.amount, ask.currency, ask.token, ask.reference, key),
    )
    return answer(connection, key)


def _finish(connection: sqlite3.Connection, charge: sqlite3.Row, reason: str | None) -> None:
    status = "captured" if reason is None else "declined"
    connection.execute(
        "UPDATE charges SET status = ?, reason = ? WHERE key = ?", (status, reason, charge["key"])
    )
    if behaviour_of(charge["token"]).notify:
        connection.execute(
            "INSERT INTO notices (charge_key, webhook_id) VALUES (?, ?)",
            (charge["key"], f"msg_{uuid4().hex}"),
        )
    if status == "captured":
        connection.execute(
            "INSERT INTO entries (kind, charge_key, amount, currency, reference, at)"
            " VALUES ('capture', ?, ?, ?, ?, ?)",
            (
                charge["key"],
                charge["amount"],
                charge["currency"],
                charge["reference"],
                now_text(),
            ),
        )


def _status_code(charge: sqlite3.Row) -> int:
    return 402 if charge["status"] == "declined" else 201


def _body(charge: sqlite3.Row) -> dict[str, Any]:
    return {
        "charge_key": charge["key"],
        "charge_id": charge["charge_id"],
        "status": charge["status"],
        "amount": charge["amount"],
        "currency": charge["currency"],
        "reference": charge["reference"],
        "reason": charge["reason"],
    }
