"""All SQL that reads the read model for the API."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from services.projector.tables import order_search, order_timeline, order_view
from services.projector.views import OrderView, TimelineEntry


@dataclass(frozen=True, slots=True)
class Cursor:
    """The place in the list after which the next page begins: its last order."""

    began_at: datetime
    order_id: UUID


@dataclass(frozen=True, slots=True)
class Filter:
    """Which orders are wanted; what is None does not matter.

    ``since`` and ``until`` bound when an order began (``until`` itself is outside). ``words`` must
    all be among the order's, each as a word or the beginning of one.
    """

    status: str | None = None
    customer_id: str | None = None
    reason: str | None = None
    payment_status: str | None = None
    currency: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    words: str | None = None


def list_orders(
    conn: Connection, tenant_id: str, wanted: Filter, *, before: Cursor | None, limit: int
) -> list[OrderView]:
    """The newest orders that match, newest first, at most ``limit``."""
    view = order_view.c
    query = sa.select(order_view).where(view.tenant_id == tenant_id)
    for name in ("status", "customer_id", "reason", "payment_status", "currency"):
        if (value := getattr(wanted, name)) is not None:
            query = query.where(view[name] == value)
    if wanted.since is not None:
        query = query.where(view.began_at >= wanted.since)
    if wanted.until is not None:
        query = query.where(view.began_at < wanted.until)
    if wanted.words is not None:
        query = query.where(view.order_id.in_(_with_words(tenant_id, wanted.words)))
    if before is not None:
        place = sa.tuple_(view.began_at, view.order_id)
        query = query.where(place < sa.tuple_(before.began_at, before.order_id))
    query = query.order_by(view.began_at.desc(), view.order_id.desc()).limit(limit)
    return [OrderView(**row) for row in conn.execute(query).mappings()]


def _with_words(tenant_id: str, words: str) -> sa.Select[tuple[UUID]]:
    quoted = (word.replace("\\", "\\\\").replace("'", "''") for word in words.split())
    prefixes = " & ".join(f"'{word}':*" for word in quoted)
    matches = order_search.c.document.bool_op("@@")(
        sa.func.to_tsquery(sa.text("'simple'::regconfig"), prefixes)
    )
    return sa.select(order_search.c.order_id).where(order_search.c.tenant_id == tenant_id, matches)


def order_sequence(conn: Connection, tenant_id: str, order_id: UUID) -> int | None:
    """The newest version of an order that was seen, or None where it is not known at all."""
    query = sa.select(order_view.c.order_sequence).where(*_of(order_view, tenant_id, order_id))
    return conn.execute(query).scalar()


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
