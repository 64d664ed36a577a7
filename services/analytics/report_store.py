"""All SQL of reports: themselves, their pages, and the rows of orders that go into a page."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.engine import Connection, RowMapping

from services.analytics.reports import OPEN, SUCCEEDED, Page, Report
from services.analytics.tables import order_figures, report_pages, reports
from services.eventkit import db
from services.eventkit.changes import ChangeLog, NewChange
from services.eventkit.envelope import format_time

LOG = ChangeLog("report", OPEN)
_R, _F = reports.c, order_figures.c
_FIELDS = [field.name for field in fields(Report)]

COLUMNS = (
    "order_id",
    "status",
    "reason",
    "customer_id",
    "currency",
    "total",
    "placed_at",
    "ended_at",
    "reservation",
    "payment",
    "captured",
    "refunded",
    "mails",
)
"""Of the file; money in minor units."""

OLD_PAGES = f"""
DELETE FROM report_pages WHERE (report_id, number) IN (
    SELECT report_id, number FROM report_pages JOIN reports ON key = report_id
    WHERE status IN ('failed', 'cancelled') OR status = '{SUCCEEDED}' AND expires_at < :before
    LIMIT :batch)"""  # noqa: S608 - a constant
"""Deletes pages that nobody can download any more."""
OLD_REPORTS = """
DELETE FROM reports WHERE key IN (
    SELECT key FROM reports WHERE ended_at < :before
    AND NOT EXISTS (SELECT FROM report_pages WHERE report_id = key)
    ORDER BY ended_at LIMIT :batch)"""


def load(conn: Connection, keys: Collection[str]) -> dict[str, Report]:
    """The reports of these ids."""
    wanted = _R.key == sa.any_(sa.bindparam("keys", list(keys), ARRAY(sa.Text)))
    found = conn.execute(sa.select(reports).where(wanted)).mappings()
    return {row["key"]: _report(row) for row in found}


def save(conn: Connection, changed: Sequence[Report], related: Sequence[Any]) -> None:
    """Writes reports, their new pages, and what their clients are told."""
    db.upsert_rows(conn, reports, [asdict(report) for report in changed])
    pages = [asdict(page) for page in related if isinstance(page, Page)]
    db.insert_rows(conn, report_pages, pages)
    told = [NewChange(one.tenant_id, one.key, one.updated_at, progress(one)) for one in changed]
    LOG.record(conn, told)


def progress(report: Report) -> dict[str, Any]:
    """How far a report is: what is told of each of its states, as JSON."""
    return {
        "report_id": report.key,
        "status": report.status,
        "reason": report.reason,
        "percent": report.percent,
        "rows": report.rows,
        "updated_at": format_time(report.updated_at),
    }


def find(conn: Connection, tenant_id: str, report_id: str) -> Report | None:
    """One report of this tenant; another tenant's does not exist."""
    query = sa.select(reports).where(_R.key == report_id, _R.tenant_id == tenant_id)
    row = conn.execute(query).mappings().one_or_none()
    return _report(row) if row else None


def newest(conn: Connection, tenant_id: str, limit: int) -> list[Report]:
    """A tenant's reports, newest first."""
    query = sa.select(reports).where(_R.tenant_id == tenant_id)
    query = query.order_by(_R.requested_at.desc(), _R.key).limit(limit)
    return [_report(row) for row in conn.execute(query).mappings()]


def open_reports(conn: Connection, tenant_id: str) -> int:
    """How many of a tenant's reports have not ended."""
    query = sa.select(sa.func.count()).where(_R.tenant_id == tenant_id, _R.status.in_(OPEN))
    return conn.execute(query).scalar_one()


def page(conn: Connection, report_id: str, number: int) -> bytes | None:
    """A page of a report's file, or None."""
    table = report_pages.c
    query = sa.select(table.content).where(table.report_id == report_id, table.number == number)
    return conn.execute(query).scalar_one_or_none()


def count_orders(conn: Connection, report: Report) -> int:
    """How many orders were placed in a report's period, as far as is known."""
    query = sa.select(sa.func.count()).select_from(order_figures).where(*_in_period(report))
    return conn.execute(query).scalar_one()


def orders_after(
    conn: Connection, report: Report, at: datetime, key: str, limit: int
) -> list[Mapping[str, Any]]:
    """The next orders of a report's period, by the time they were placed and their id."""
    behind = sa.tuple_(_F.placed_at, _F.key) > sa.tuple_(sa.literal(at), sa.literal(key))
    columns = [_F.key.label("order_id"), *(_F[name] for name in COLUMNS[1:])]
    query = sa.select(*columns).where(*_in_period(report), behind)
    query = query.order_by(_F.placed_at, _F.key).limit(limit)
    return [dict(row) for row in conn.execute(query).mappings()]


def _in_period(report: Report) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        _F.tenant_id == report.tenant_id,
        _F.placed_at >= report.since,
        _F.placed_at < report.until,
    )


def _report(row: RowMapping) -> Report:
    return Report(**{name: row[name] for name in _FIELDS})
