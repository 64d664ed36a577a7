"""What streams tell of orders."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from services.eventkit.changes import Change, ChangeLog, NewChange
from services.eventkit.envelope import format_time
from services.order.domain import PENDING, Order

LOG: Final = ChangeLog("order", frozenset({PENDING}))

WAITS_FOR: Final[Mapping[str, tuple[str, ...]]] = {
    "stock": ("StockReserved", "StockRejected"),
    "payment": ("PaymentCaptured", "PaymentDeclined"),
}
"""The events that end the wait for a step."""

_OPEN = sa.text(f"""
SELECT DISTINCT ON (order_id) {LOG.columns} FROM order_changes JOIN (
    SELECT order_id FROM orders WHERE tenant_id = :tenant AND status = 'pending'
    ORDER BY waiting_since LIMIT :limit) AS open USING (order_id)
ORDER BY order_id, seq DESC""")  # noqa: S608 - constants of this file


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
    changes = [
        NewChange(order.tenant_id, order.key, order.updated_at, progress(order)) for order in orders
    ]
    LOG.record(conn, changes)


def now(order: Order) -> Change:
    """The state an order has."""
    return LOG.now(order.tenant_id, order.key, progress(order))


def open_orders(conn: Connection, tenant_id: str, limit: int) -> list[Change]:
    """The states of a tenant's open orders, up to ``limit``, those that have waited longest."""
    rows = conn.execute(_OPEN, {"tenant": tenant_id, "limit": limit})
    return sorted((LOG.change(row) for row in rows), key=lambda change: change.place.seq)
