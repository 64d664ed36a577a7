"""All SQL of the order service."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.engine import Connection, RowMapping

from services.eventkit import db
from services.eventkit.decision import Event
from services.order import changes, webhook_store
from services.order.domain import Line, Order
from services.order.handlers import HANDLERS
from services.order.tables import orders
from services.order.webhooks import JOB

_PLAIN = [field.name for field in fields(Order) if field.name not in {"key", "lines"}]
_WANTED = sa.select(orders).where(
    orders.c.order_id == sa.any_(sa.bindparam("keys", type_=ARRAY(sa.Text)))
)


TELLING: Final = frozenset(on.type for on in HANDLERS.values() if on.emits and JOB in on.jobs)
"""The inputs that can end an order: their rules may tell webhooks."""
RESULTS: Final = frozenset({f"{JOB}.succeeded", f"{JOB}.failed"})


class OrderStore:
    """Orders, one row each, their lines inside it: an order is always read and written whole."""

    def load(self, conn: Connection, keys: Sequence[str]) -> dict[str, Order]:
        """The orders with these ids."""
        rows = conn.execute(_WANTED, {"keys": list(keys)}).mappings()
        return {row["order_id"]: _order(row) for row in rows}

    def related(
        self, conn: Connection, events: Sequence[Event], states: Mapping[str, Order]
    ) -> dict[str, Any]:
        """Whom a tenant wants told where an order may end, and what a delivery was."""
        tenants = {event.tenant_id for event in events if event.type in TELLING}
        deliveries = {
            event.data["asked"]["delivery_id"] for event in events if event.type in RESULTS
        }
        return webhook_store.related(conn, tenants, deliveries)

    def save(
        self, conn: Connection, states: Mapping[str, Order], related: Mapping[str, Any]
    ) -> None:
        """Writes the changed orders, and what streams tell of them, in one statement each."""
        db.upsert_rows(conn, orders, [_row(order) for order in states.values()])
        changes.record(conn, list(states.values()))
        webhook_store.save(conn, related)

    def open_orders(self, conn: Connection, tenant_id: str, most: int) -> int:
        """How many orders of a tenant are pending, counted up to ``most``."""
        pending = (
            sa.select(sa.literal(1))
            .where(orders.c.tenant_id == tenant_id, orders.c.status == "pending")
            .limit(most)
            .subquery()
        )
        return conn.execute(sa.select(sa.func.count()).select_from(pending)).scalar_one()

    def find(self, conn: Connection, tenant_id: str, order_id: str) -> Order | None:
        """One order of this tenant; another tenant's does not exist."""
        query = sa.select(orders).where(
            orders.c.order_id == order_id, orders.c.tenant_id == tenant_id
        )
        row = conn.execute(query).mappings().one_or_none()
        return _order(row) if row else None


def _order(row: RowMapping) -> Order:
    lines = tuple(Line(**line) for line in row["lines"])
    return Order(key=row["order_id"], lines=lines, **{name: row[name] for name in _PLAIN})


def _row(order: Order) -> dict[str, Any]:
    row = {name: getattr(order, name) for name in _PLAIN}
    return row | {"order_id": order.key, "lines": [asdict(line) for line in order.lines]}
