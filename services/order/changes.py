"""Every state an order has had, as rows of the transactions that made them: what streams tell.

Rows of one order are written under its lock, so their numbers are in the order of their commits.
Those of different orders are not: a transaction with a lower number may commit later. A reader of
more than one order therefore passes over what a transaction wrote that began before the oldest one
still under way, and takes it up when that one has ended. A place is (transaction, number).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from services.eventkit import db
from services.eventkit.envelope import format_time
from services.order.domain import Order
from services.order.tables import order_changes

PAGE: Final = 500

WAITS_FOR: Final[Mapping[str, tuple[str, ...]]] = {
    "stock": ("StockReserved", "StockRejected"),
    "payment": ("PaymentCaptured", "PaymentDeclined"),
}
"""The events that end the wait for a step."""

_HORIZON = "pg_snapshot_xmin(pg_current_snapshot())"
_COLUMNS = "seq, xact::text::bigint AS xact, tenant_id, order_id, state"
_NOW = sa.text(f"SELECT {_HORIZON}::text::bigint")
_BETWEEN = sa.text(f"""
SELECT {_COLUMNS} FROM order_changes
WHERE xact >= CAST(CAST(:low AS text) AS xid8) AND xact < CAST(CAST(:high AS text) AS xid8)
ORDER BY xact, seq""")  # noqa: S608 - constants of this file
_OF_TENANT = sa.text(f"""
SELECT {_COLUMNS} FROM order_changes
WHERE tenant_id = :tenant AND (xact, seq) > (CAST(CAST(:xact AS text) AS xid8), :seq)
  AND xact < {_HORIZON}
ORDER BY xact, seq LIMIT {PAGE}""")  # noqa: S608
_OF_ORDER = sa.text(f"""
SELECT {_COLUMNS} FROM order_changes WHERE order_id = :order AND seq >= :seq
ORDER BY seq""")  # noqa: S608
_LAST = sa.text(f"""
SELECT {_COLUMNS} FROM order_changes WHERE order_id = :order
ORDER BY seq DESC LIMIT 1""")  # noqa: S608
_KNOWN = sa.text(f"""
SELECT CAST(CAST(:xact AS text) AS xid8) <= {_HORIZON} AND coalesce(
    (SELECT (xact, seq) <= (CAST(CAST(:xact AS text) AS xid8), :seq)
     FROM order_changes ORDER BY xact, seq LIMIT 1), false)""")  # noqa: S608
_OPEN = sa.text(f"""
SELECT DISTINCT ON (order_id) {_COLUMNS} FROM order_changes JOIN (
    SELECT order_id FROM orders WHERE tenant_id = :tenant AND status = 'pending'
    ORDER BY waiting_since LIMIT :limit) AS open USING (order_id)
ORDER BY order_id, seq DESC""")  # noqa: S608

OLD: Final = """
DELETE FROM order_changes WHERE seq IN (
    SELECT seq FROM (SELECT seq, at FROM order_changes ORDER BY seq LIMIT :batch) AS first
    WHERE at < :before)"""
"""Deletes the oldest rows: they have the lowest numbers."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where a reader is: all that is at or before it has been read."""

    xact: int
    seq: int

    def __str__(self) -> str:
        return f"{self.xact}-{self.seq}"

    @classmethod
    def parse(cls, text: str) -> "Place | None":
        """The reverse of ``str``; None for anything else."""
        found = re.fullmatch(r"(\d{1,18})-(\d{1,18})", text)
        return cls(int(found[1]), int(found[2])) if found else None


@dataclass(frozen=True, slots=True)
class Change:
    """One state of an order."""

    place: Place
    tenant_id: str
    order_id: str
    state: Mapping[str, Any]

    @property
    def ended(self) -> bool:
        """True where the order is at an ending."""
        return bool(self.state["status"] != "pending")


def progress(order: Order) -> dict[str, Any]:
    """How far an order is: what is told of each of its states, as JSON."""
    step = order.waiting_for
    since = format_time(order.waiting_since)
    return {
        "order_id": order.key,
        "status": order.status,
        "reason": order.reason,
        "waiting_for": {"step": step, "events": WAITS_FOR[step], "since": since} if step else None,
        "stock": order.stock,
        "payment": order.payment,
        "version": order.version,
        "updated_at": format_time(order.updated_at),
    }


def record(conn: Connection, orders: Sequence[Order]) -> None:
    """Stores the states that these orders have now, in one statement."""
    rows = [
        {
            "tenant_id": order.tenant_id,
            "order_id": order.key,
            "at": order.updated_at,
            "state": progress(order),
        }
        for order in orders
    ]
    db.insert_rows(conn, order_changes, rows)


def horizon(conn: Connection) -> int:
    """The oldest transaction that may still be under way: what began before it is final."""
    return int(conn.execute(_NOW).scalar_one())


def between(conn: Connection, low: int, high: int) -> list[Change]:
    """All changes written by transactions from ``low`` to below ``high``."""
    return [_change(row) for row in conn.execute(_BETWEEN, {"low": low, "high": high})]


def of_tenant(conn: Connection, tenant_id: str, after: Place) -> list[Change]:
    """A tenant's next changes, up to `PAGE`, leaving out those that may not be final yet."""
    values = {"tenant": tenant_id, "xact": after.xact, "seq": after.seq}
    return [_change(row) for row in conn.execute(_OF_TENANT, values)]


def of_order(conn: Connection, order_id: str, after: Place) -> list[Change] | None:
    """An order's changes behind one of its own; None where that one is not known (any more)."""
    found = [_change(row) for row in conn.execute(_OF_ORDER, {"order": order_id, "seq": after.seq})]
    return found[1:] if found and found[0].place == after else None


def last_of(conn: Connection, order_id: str) -> Change | None:
    """An order's latest change, if it is still kept."""
    row = conn.execute(_LAST, {"order": order_id}).one_or_none()
    return _change(row) if row else None


def known(conn: Connection, place: Place) -> bool:
    """Whether everything behind a place is still kept, as far as anybody can tell."""
    return bool(conn.execute(_KNOWN, {"xact": place.xact, "seq": place.seq}).scalar_one())


def open_orders(conn: Connection, tenant_id: str, limit: int) -> list[Change]:
    """The states of a tenant's open orders, up to ``limit``, those that have waited longest."""
    rows = conn.execute(_OPEN, {"tenant": tenant_id, "limit": limit})
    return sorted((_change(row) for row in rows), key=lambda change: change.place.seq)


def _change(row: Row[Any]) -> Change:
    return Change(Place(row.xact, row.seq), row.tenant_id, row.order_id, row.state)
