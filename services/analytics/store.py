"""All SQL of analytics: the rows of orders, and the figures as queries over them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.engine import Connection, RowMapping

from services.analytics import report_store
from services.analytics.domain import OrderFigures
from services.analytics.reports import PREFIX, Report
from services.analytics.tables import order_figures
from services.eventkit import db
from services.eventkit.decision import Event
from services.eventkit.rebuild.tables import projection_state

ROW = order_figures.c
_SHARE = sa.select(projection_state.c.generation).with_for_update(read=True)
FIELDS = [field.name for field in fields(OrderFigures)]


class AnalyticsStore:
    """Loads and saves order rows and reports, set by set; a report's key tells that it is one."""

    def load(self, conn: Connection, keys: Sequence[str]) -> dict[str, OrderFigures | Report]:
        """The rows of these orders and these reports; one never heard of is left out."""
        wanted = [key for key in keys if key.startswith(PREFIX)]
        orders = [key for key in keys if not key.startswith(PREFIX)]
        found: dict[str, OrderFigures | Report] = {}
        if orders:
            found.update(load_figures(conn, orders))
        if wanted:
            found.update(report_store.load(conn, wanted))
        return found

    def related(
        self,
        conn: Connection,
        events: Sequence[Event],
        states: Mapping[str, OrderFigures | Report],
    ) -> dict[str, Any]:
        """Nothing: an order's row stands alone, and so does a report."""
        return {}

    def save(
        self,
        conn: Connection,
        states: Mapping[str, OrderFigures | Report],
        related: Mapping[str, Any],
    ) -> None:
        """Writes the changed rows, reports and pages, one statement each."""
        changed = [states[key] for key in sorted(states)]
        save_figures(conn, [one for one in changed if isinstance(one, OrderFigures)])
        report_store.save(
            conn, [one for one in changed if isinstance(one, Report)], list(related.values())
        )


def load_figures(conn: Connection, keys: Sequence[str]) -> dict[str, OrderFigures]:
    """The rows of these orders; one never heard of is left out. Holds off a rebuild's swap."""
    conn.execute(_SHARE)
    wanted = ROW.key == sa.any_(sa.bindparam("keys", list(keys), ARRAY(sa.Text)))
    found = conn.execute(sa.select(order_figures).where(wanted)).mappings()
    return {row["key"]: figures_of(row) for row in found}


def save_figures(conn: Connection, rows: Sequence[OrderFigures]) -> None:
    """Writes rows in one statement."""
    db.upsert_rows(conn, order_figures, [_columns(row) for row in rows])


@dataclass(frozen=True, slots=True)
class CurrencyFigures:
    """Money of one currency, in minor units: sold, taken and given back."""

    confirmed_total: int
    captured: int
    refunded: int


def order(conn: Connection, tenant_id: str, order_id: str) -> OrderFigures | None:
    """One order's row, or None."""
    query = sa.select(order_figures).where(ROW.tenant_id == tenant_id, ROW.key == order_id)
    row = conn.execute(query).mappings().one_or_none()
    return None if row is None else figures_of(row)


def orders_by_status(conn: Connection, tenant_id: str) -> dict[str, int]:
    """How many orders are in each status; one whose placement is still to come counts nowhere."""
    query = (
        sa.select(ROW.status, sa.func.count().label("orders"))
        .where(ROW.tenant_id == tenant_id, ROW.status.is_not(None))
        .group_by(ROW.status)
        .order_by(ROW.status)
    )
    return {row.status: row.orders for row in conn.execute(query)}


def money(conn: Connection, tenant_id: str) -> dict[str, CurrencyFigures]:
    """What was sold, captured and refunded, by currency."""
    confirmed = sa.func.sum(ROW.total).filter(ROW.status == "confirmed")
    sums = (confirmed, sa.func.sum(ROW.captured), sa.func.sum(ROW.refunded))
    query = (
        sa.select(ROW.currency, *(sa.cast(sa.func.coalesce(s, 0), sa.BigInteger) for s in sums))
        .where(ROW.tenant_id == tenant_id, ROW.currency.is_not(None))
        .group_by(ROW.currency)
        .order_by(ROW.currency)
    )
    return {currency: CurrencyFigures(*found) for currency, *found in conn.execute(query)}


def mails_sent(conn: Connection, tenant_id: str) -> int:
    """How many mails about orders were sent."""
    total = sa.func.coalesce(sa.func.sum(sa.func.jsonb_array_length(ROW.mails)), 0)
    return int(conn.execute(sa.select(total).where(ROW.tenant_id == tenant_id)).scalar_one())


def figures_of(row: RowMapping) -> OrderFigures:
    """The figures of a row."""
    values = {name: row[name] for name in FIELDS}
    return OrderFigures(**values | {"mails": tuple(values["mails"])})


def _columns(figures: OrderFigures) -> dict[str, Any]:
    return asdict(figures) | {"mails": list(figures.mails)}
