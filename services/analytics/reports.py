"""Write a report page by page: the rules of reports.

A report is an aggregate of its own, and its file the pages that were taken in. Each page is the
result of a job, so a page that is read twice is stored once, and a report whose worker dies goes on
where it was.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from services.eventkit.decision import APPLIED, Decision, Emit, NewJob, ignored

PREFIX: Final = "rep_"
JOB: Final = "report"
PENDING, RUNNING = "pending", "running"
SUCCEEDED, FAILED, CANCELLED = "succeeded", "failed", "cancelled"
OPEN: Final = frozenset({PENDING, RUNNING})

_PRIORITY: Final = 200


@dataclass(frozen=True, slots=True)
class Report:
    """A file about the orders placed from ``since`` to before ``until``; times in UTC.

    ``total`` is how many rows it is expected to have, None before anybody has counted; ``rows``,
    ``size`` (bytes) and ``pages`` are what it has. After ``expires_at`` the file is gone.
    """

    key: str
    tenant_id: str
    since: datetime
    until: datetime
    requested_at: datetime
    updated_at: datetime
    status: str = PENDING
    reason: str | None = None
    total: int | None = None
    rows: int = 0
    size: int = 0
    pages: int = 0
    ended_at: datetime | None = None
    expires_at: datetime | None = None
    version: int = 0

    @property
    def is_open(self) -> bool:
        """True until it has ended."""
        return self.status in OPEN

    @property
    def percent(self) -> int:
        """How much of it is written: 100 only once it is ready."""
        if self.status == SUCCEEDED:
            return 100
        return min(99, self.rows * 100 // self.total) if self.total else 0


@dataclass(frozen=True, slots=True)
class Page:
    """A piece of a report's file."""

    report_id: str
    number: int
    content: bytes


def request(state: Report | None, new: Report) -> Decision[Report]:
    """Write the first page later."""
    if state is not None:
        return Decision(ignored("already_requested"))
    return Decision(APPLIED, new, jobs=(_job(0, None),))


def write(
    report: Report | None, told: Mapping[str, Any], now: datetime, keep: timedelta
) -> Decision[Report]:
    """Take a page in; the last one makes the report ready.

    ``told`` has the page's ``content`` and ``rows``, where the next page begins (``after``, None
    for the last one), and with the first page the ``total``.
    """
    if report is None or not report.is_open:
        return Decision(ignored("report_over"))
    number = told["asked"]["page"]
    if number != report.pages:
        return Decision(ignored("page_written"))
    page = Page(report.key, number, told["content"])
    longer = replace(
        report,
        status=RUNNING,
        total=report.total if told["total"] is None else told["total"],
        rows=report.rows + told["rows"],
        size=report.size + len(page.content),
        pages=number + 1,
        updated_at=now,
    )
    related = {f"page:{report.key}:{number}": page}
    if told["after"] is not None:
        return Decision(APPLIED, longer, jobs=(_job(number + 1, told["after"]),), related=related)
    ready = replace(longer, status=SUCCEEDED, ended_at=now, expires_at=now + keep)
    return Decision(
        APPLIED, ready, (Emit("ReportReady", {"report_id": report.key}),), related=related
    )


def fail(report: Report | None, reason: str, now: datetime) -> Decision[Report]:
    """Give a report up whose page cannot be read."""
    if report is None or not report.is_open:
        return Decision(ignored("report_over"))
    return Decision(
        APPLIED, replace(report, status=FAILED, reason=reason, updated_at=now, ended_at=now)
    )


def cancel(report: Report | None, now: datetime) -> Decision[Report]:
    """Stop writing; what was written is deleted later."""
    if report is None or not report.is_open:
        return Decision(ignored("report_over"))
    ended = replace(report, status=CANCELLED, updated_at=now, ended_at=now)
    return Decision(APPLIED, ended, cancel_jobs=(JOB,))


def _job(page: int, after: Any) -> NewJob:
    return NewJob(JOB, {"page": page, "after": after}, priority=_PRIORITY)
