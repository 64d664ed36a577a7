"""Loads the rows of every service's database, read only, as the auditor."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import OperationalError

from services.orderctl.errors import NOT_ANSWERING, CliError
from services.orderctl.settings import Settings
from services.orderctl.verify.data import (
    Copy,
    Goods,
    Letter,
    Message,
    Order,
    OutboxRow,
    Payment,
    Reservation,
    Stock,
)

EMITTERS = ("order", "inventory", "payment", "email", "analytics")


@contextmanager
def reading(settings: Settings, service: str) -> Iterator[Connection]:
    """One unchanging view of a service's database; CliError when it does not answer."""
    engine = sa.create_engine(
        settings.database_url(service),
        poolclass=sa.NullPool,
        isolation_level="REPEATABLE READ",
        connect_args={
            "connect_timeout": 5,
            "application_name": "orderctl",
            "options": "-c default_transaction_read_only=on",
        },
    )
    try:
        with engine.connect() as conn:
            yield conn
    except OperationalError as error:
        raise CliError(
            f"the database of {service} does not answer: {str(error.orig).splitlines()[0]}",
            "run make status to see what is down, make up to start it",
            code=NOT_ANSWERING,
        ) from error


def orders(conn: Connection) -> dict[str, Order]:
    """All orders by id."""
    query = """
        SELECT order_id, status, reason, currency, total, pay_by,
               CASE WHEN status <> 'pending' THEN NULL
                    WHEN stock = 'requested' THEN 'stock' ELSE 'payment' END AS waiting_for
        FROM orders"""
    return {row["order_id"]: Order(**row) for row in _rows(conn, query)}


def reservations(conn: Connection) -> dict[str, Reservation]:
    """All reservations by order id, with their lines."""
    lines: dict[str, dict[Goods, int]] = defaultdict(dict)
    for row in _rows(conn, "SELECT key, tenant_id, sku, quantity FROM reservation_lines"):
        lines[row["key"]][row["tenant_id"], row["sku"]] = row["quantity"]
    found = _rows(conn, "SELECT key, status FROM reservations")
    return {row["key"]: Reservation(row["status"], lines[row["key"]]) for row in found}


def stock(conn: Connection) -> dict[Goods, Stock]:
    """All stock by tenant and SKU."""
    found = _rows(conn, "SELECT tenant_id, sku, imported, available, held FROM stock")
    return {
        (row["tenant_id"], row["sku"]): Stock(row["imported"], row["available"], row["held"])
        for row in found
    }


def payments(conn: Connection) -> dict[str, Payment]:
    """All payments by order id."""
    found = _rows(conn, "SELECT key, status, currency, captured, refunded FROM payments")
    return {
        row["key"]: Payment(row["status"], row["currency"], row["captured"], row["refunded"])
        for row in found
    }


def messages(conn: Connection) -> list[Message]:
    """All mails of the email service."""
    found = _rows(conn, "SELECT key, kind, status FROM messages")
    return [Message(row["key"], row["kind"], row["status"]) for row in found]


def views(conn: Connection) -> dict[str, Copy]:
    """All orders of the read model by id."""
    columns = "status, reason, currency, total, captured, refunded"
    return _copies(conn, f"SELECT order_id::text AS key, {columns} FROM order_view")  # noqa: S608


def figures(conn: Connection) -> dict[str, Copy]:
    """All orders of analytics by id."""
    columns = "status, reason, currency, total, captured, refunded"
    return _copies(conn, f"SELECT key, {columns} FROM order_figures")  # noqa: S608


def outbox(conn: Connection, service: str) -> list[OutboxRow]:
    """All outbox rows of a service."""
    query = """
        SELECT message_id::text AS message_id, topic, aggregate_id AS key, event_type,
               created_at AT TIME ZONE 'utc' AS created_at
        FROM outbox"""
    return [OutboxRow(service=service, **row) for row in _rows(conn, query)]


def letters(conn: Connection, service: str) -> list[Letter]:
    """The dead letters and parked events that nobody has dealt with."""
    query = """
        SELECT status, coalesce(event_type, '(no type)') AS event_type,
               coalesce(key, '(no key)') AS key, reason
        FROM dead_letters WHERE status NOT IN ('redriven', 'discarded') ORDER BY failed_at"""
    return [Letter(service=service, **row) for row in _rows(conn, query)]


def _copies(conn: Connection, query: str) -> dict[str, Copy]:
    return {
        row["key"]: Copy(
            status=row["status"],
            reason=row["reason"],
            currency=row["currency"],
            total=row["total"],
            captured=row["captured"] or 0,
            refunded=row["refunded"] or 0,
        )
        for row in _rows(conn, query)
    }


def _rows(conn: Connection, query: str) -> list[Mapping[str, Any]]:
    return [dict(row) for row in conn.execute(sa.text(query)).mappings()]
