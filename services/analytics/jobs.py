"""What analytics does later: the pages of reports, each read and written as CSV by a job."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from services.analytics import report_store
from services.analytics.report_store import COLUMNS
from services.analytics.reports import JOB
from services.analytics.settings import AnalyticsSettings
from services.eventkit.db import make_engine
from services.eventkit.envelope import format_time
from services.eventkit.jobs import JobContext, JobKind, Refused


class Pages:
    """Reads pages of up to ``size`` rows: so much of a report is in memory at once."""

    def __init__(self, db: sa.Engine, size: int, keep: float) -> None:
        """``keep`` is for how many seconds a report can be downloaded."""
        self._db = db
        self._size = size
        self._keep = keep

    def read(self, job: JobContext) -> Mapping[str, Any]:
        """The page that the job asks for. Raises `Refused` where there is no such report."""
        number, after = job.args["page"], job.args["after"]
        with self._db.connect() as conn:
            report = report_store.find(conn, job.tenant_id, job.key)
            if report is None:
                raise Refused("there is no such report")
            total = report_store.count_orders(conn, report) if number == 0 else None
            at, key = (datetime.fromisoformat(after[0]), after[1]) if after else (report.since, "")
            rows = report_store.orders_after(conn, report, at, key, self._size)
        last = rows[-1] if len(rows) == self._size else None
        return {
            "content": as_csv(rows, header=number == 0),
            "rows": len(rows),
            "total": total,
            "after": [last["placed_at"].isoformat(), last["order_id"]] if last else None,
            "keep": self._keep,
        }


def as_csv(rows: Iterable[Mapping[str, Any]], *, header: bool) -> bytes:
    """Rows as RFC 4180 has them, in UTF-8; what is not known is empty."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS)
    if header:
        writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue().encode()


def job_kinds(settings: AnalyticsSettings) -> Sequence[JobKind]:
    """The job kinds of the service."""
    db = make_engine(settings.database_url, pool_size=2, name="analytics-reports")
    pages = Pages(db, settings.report_page, settings.report_keep)
    return [JobKind(JOB, pages.read, "reports", max_attempts=5, timeout=60.0)]


def _cell(value: Any) -> Any:
    if isinstance(value, datetime):
        return format_time(value)
    return " ".join(value) if isinstance(value, list) else value
