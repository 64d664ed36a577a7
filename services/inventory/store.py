"""All SQL of inventory: reservations and stock, set by set, stock rows locked in order of SKU."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.engine import Connection, Row

from services.eventkit import db
from services.eventkit.decision import Event
from services.inventory import import_store
from services.inventory.domain import Line, Reservation, Stock, stock_key
from services.inventory.imports import PREFIX, Apply, Import, Receipt
from services.inventory.tables import reservation_lines, reservations, stock

ROW = stock.c


_ADD = """
INSERT INTO stock (tenant_id, sku, imported, available, held)
SELECT tenant_id, sku, sum(quantity)::bigint, sum(quantity)::bigint, 0 FROM {}
GROUP BY tenant_id, sku ORDER BY tenant_id, sku
ON CONFLICT (tenant_id, sku) DO UPDATE SET
    imported = stock.imported + excluded.imported,
    available = stock.available + excluded.available
RETURNING tenant_id, sku, imported, available, held"""
"""Adds pieces to the stock in one statement, which locks the rows in order of tenant and SKU."""
_RECEIVE = sa.text(
    _ADD.format(
        "unnest(CAST(:tenants AS text[]), CAST(:skus AS text[]), CAST(:quantities AS bigint[]))"
        " AS arrived (tenant_id, sku, quantity)"
    )
)
_APPLY = sa.text(
    _ADD.format(
        "import_rows JOIN imports ON key = import_id WHERE import_id = ANY(CAST(:ids AS text[]))"
    ).replace("RETURNING tenant_id, sku, imported, available, held", "")
)


class InventoryStore:
    """Loads and saves reservations and the stock they hold, and imports; keys tell them apart."""

    def load(self, conn: Connection, keys: Sequence[str]) -> dict[str, Reservation | Import]:
        """The reservations of these orders, and these imports; one never seen is left out."""
        imports = [key for key in keys if key.startswith(PREFIX)]
        orders = [key for key in keys if not key.startswith(PREFIX)]
        found: dict[str, Reservation | Import] = {}
        if orders:
            found.update(self.reservations(conn, orders))
        if imports:
            found.update(import_store.load(conn, imports))
        return found

    def reservations(self, conn: Connection, keys: Sequence[str]) -> dict[str, Reservation]:
        """The reservations of these orders; one never seen is left out."""
        lines: dict[str, list[Line]] = {key: [] for key in keys}
        for row in conn.execute(_of_keys(reservation_lines, keys).order_by(sa.text("key, sku"))):
            lines[row.key].append(Line(row.sku, row.quantity))
        return {
            row.key: Reservation(
                row.key, row.tenant_id, row.status, tuple(lines[row.key]), row.version
            )
            for row in conn.execute(_of_keys(reservations, keys))
        }

    def related(
        self,
        conn: Connection,
        events: Sequence[Event],
        states: Mapping[str, Reservation | Import],
    ) -> dict[str, Stock]:
        """The stock rows that these events can move, locked in order of tenant and SKU."""
        wanted = sorted(_wanted(events, states))
        if not wanted:
            return {}
        pairs = _pairs(wanted)
        query = (
            sa.select(stock)
            .join(pairs, sa.and_(ROW.tenant_id == pairs.c.tenant_id, ROW.sku == pairs.c.sku))
            .order_by(ROW.tenant_id, ROW.sku)
            .with_for_update(of=stock)
        )
        rows = map(_stock, conn.execute(query))
        return {stock_key(row.tenant_id, row.sku): row for row in rows}

    def save(
        self,
        conn: Connection,
        states: Mapping[str, Reservation | Import],
        related: Mapping[str, Any],
    ) -> None:
        """Writes the changed stock rows, reservations and new lines, one statement each.

        What imports add to the stock comes first: they are never in one transaction with orders.
        """
        everything = [states[key] for key in sorted(states)]
        rows = [related[key] for key in sorted(related)]
        imports = [one for one in everything if isinstance(one, Import)]
        if imports:
            import_store.save(conn, imports, rows)
            receive_all(conn, [row for row in rows if isinstance(row, Receipt)])
            staged = [row.import_id for row in rows if isinstance(row, Apply)]
            if staged:
                conn.execute(_APPLY, {"ids": staged})
        changed = [one for one in everything if isinstance(one, Reservation)]
        db.upsert_rows(conn, stock, [asdict(row) for row in rows if isinstance(row, Stock)])
        db.upsert_rows(conn, reservations, [_columns(reservation) for reservation in changed])
        lines = [
            {
                "key": reservation.key,
                "sku": line.sku,
                "tenant_id": reservation.tenant_id,
                "quantity": line.quantity,
            }
            for reservation in changed
            for line in reservation.lines
        ]
        db.insert_new_rows(conn, reservation_lines, lines, reservation_lines.c.key)


def receive(conn: Connection, tenant_id: str, lines: Sequence[Line]) -> list[Stock]:
    """Adds pieces to imported and available, in order of SKU; returns the rows as they are now."""
    return receive_all(conn, [Receipt(tenant_id, tuple(lines))])


def receive_all(conn: Connection, receipts: Sequence[Receipt]) -> list[Stock]:
    """The same for several deliveries: rows are locked in order of tenant and SKU over all."""
    pieces = [(one.tenant_id, line) for one in receipts for line in one.lines]
    values = {
        "tenants": [tenant for tenant, _ in pieces],
        "skus": [line.sku for _, line in pieces],
        "quantities": [line.quantity for _, line in pieces],
    }
    return [_stock(row) for row in conn.execute(_RECEIVE, values)] if pieces else []


def stock_page(conn: Connection, tenant_id: str, after: str, limit: int) -> list[Stock]:
    """Up to ``limit`` stock rows with a SKU greater than ``after``, in order of SKU."""
    query = (
        sa.select(stock)
        .where(ROW.tenant_id == tenant_id, ROW.sku > after)
        .order_by(ROW.sku)
        .limit(limit)
    )
    return [_stock(row) for row in conn.execute(query)]


def stock_of(conn: Connection, tenant_id: str, sku: str) -> Stock | None:
    """The stock of one SKU, or None."""
    query = sa.select(stock).where(ROW.tenant_id == tenant_id, ROW.sku == sku)
    row = conn.execute(query).one_or_none()
    return None if row is None else _stock(row)


def reservation_of(conn: Connection, tenant_id: str, order_id: str) -> Reservation | None:
    """An order's reservation, or None; another tenant's is None too."""
    found = InventoryStore().reservations(conn, [order_id]).get(order_id)
    return found if found is not None and found.tenant_id == tenant_id else None


def _wanted(
    events: Sequence[Event], states: Mapping[str, Reservation | Import]
) -> set[tuple[str, str]]:
    placed = {
        (event.tenant_id, line["sku"])
        for event in events
        if event.type == "OrderPlaced"
        for line in event.data["lines"]
    }
    held = {
        (reservation.tenant_id, line.sku)
        for reservation in states.values()
        if isinstance(reservation, Reservation)
        for line in reservation.lines
    }
    return placed | held


def _of_keys(table: sa.Table, keys: Sequence[str]) -> sa.Select[Any]:
    wanted = sa.bindparam("keys", list(keys), ARRAY(sa.Text))
    return sa.select(table).where(table.c.key == sa.any_(wanted))


def _pairs(wanted: Sequence[tuple[str, str]]) -> sa.FromClause:
    tenants, skus = zip(*wanted, strict=True)
    return (
        sa.func.unnest(
            sa.bindparam("tenants", list(tenants), ARRAY(sa.Text)),
            sa.bindparam("skus", list(skus), ARRAY(sa.Text)),
        )
        .table_valued(sa.column("tenant_id", sa.Text), sa.column("sku", sa.Text), name="wanted")
        .render_derived()
    )


def _stock(row: Row[Any]) -> Stock:
    return Stock(row.tenant_id, row.sku, row.imported, row.available, row.held)


def _columns(reservation: Reservation) -> dict[str, Any]:
    names = ("key", "tenant_id", "status", "version")
    return {name: getattr(reservation, name) for name in names}
