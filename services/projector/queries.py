"""All SQL that reads the read model for the API."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from services.projector.tables import order_timeline, order_view
from services.projector.views import OrderView, TimelineEntry


@dataclass(frozen=True, slots=True)
class Cursor:
    """The place in the list after which the next page begins: its last order."""

    began_at: datetime
    order_id: UUID


def list_orders(
    conn: Connection,
    tenant_id: str,
    *,
    status: str | None,
    customer_id: str | None,
    before: Cursor | None,
    limit: int,
) -> list[OrderView]:
    """The newest orders that match, newest first, at most ``limit``."""
    view = order_view.c
    query = sa.select(order_view).where(view.tenant_id == tenant_id)
    if status is not None:
        query = query.where(view.status == status)
    if customer_id is not None:
        query = query.where(view.customer_id == customer_id)
    if before is not None:
        place = sa.tuple_(view.began_at, view.order_id)
        query = query.where(place < sa.tuple_(before.began_at, before.order_id))
    query = query.order_by(view.began_at.desc(), view.order_id.desc()).limit(limit)
    return [OrderView(**row) for row in conn.execute(query).mappings()]


def get_order(conn: Connection, tenant_id: str, order_id: UUID) -> OrderView | None:
    """One order, or None where the read model does not know it."""
    query = sa.select(order_view).where(*_of(order_view, tenant_id, order_id))
    row = conn.execute(query).mappings().first()
    return OrderView(**row) if row else None


def get_timeline(conn: Connection, tenant_id: str, order_id: UUID) -> list[TimelineEntry]:
    """Every event of an order, in the order they happened."""
    entry = order_timeline.c
    query = sa.select(order_timeline).where(*_of(order_timeline, tenant_id, order_id))
    query = query.order_by(entry.time, entry.source, entry.sequence, entry.offset)
    return [TimelineEntry(**row) for row in conn.execute(query).mappings()]


def _of(table: sa.Table, tenant_id: str, order_id: UUID) -> tuple[Any, Any]:
    return table.c.tenant_id == tenant_id, table.c.order_id == order_id
