"""The rules of reports: each page once, ready after the last, nothing after an ending."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from services.analytics import reports
from services.analytics.jobs import as_csv
from services.analytics.reports import OPEN, Report
from services.eventkit.decision import Decision
from tests.events import NOW

KEEP = timedelta(hours=1)
NEW = Report("rep_1", "demo", NOW - timedelta(days=1), NOW, NOW, NOW)
LATER = NOW + timedelta(seconds=5)


def page(number: int, rows: int = 10, after: Any = ("t", "k"), **more: Any) -> dict[str, Any]:
    told = {"content": b"x" * rows, "rows": rows, "total": None, "after": after}
    return {**told, "asked": {"page": number}, **more}


def write(report: Report | None, told: dict[str, Any]) -> Decision[Report]:
    return reports.write(report, told, LATER, KEEP)


def after(decision: Decision[Report]) -> Report:
    assert decision.state is not None
    return decision.state


def test_pages_add_up_and_the_last_one_makes_it_ready() -> None:
    assert [job.args for job in reports.request(None, NEW).jobs] == [{"page": 0, "after": None}]
    first = write(NEW, page(0, total=25))
    assert (after(first).percent, first.jobs[0].args["page"], first.emits) == (40, 1, ())
    second = write(after(first), page(1))
    assert after(second).percent == 80
    last = write(after(second), page(2, rows=5, after=None))
    ready = after(last)
    assert (ready.status, ready.percent, ready.rows, ready.size) == ("succeeded", 100, 25, 25)
    assert (ready.ended_at, ready.expires_at, last.jobs) == (LATER, LATER + KEEP, ())
    assert [(emit.type, emit.data) for emit in last.emits] == [
        ("ReportReady", {"report_id": "rep_1"})
    ]


def test_a_page_that_comes_again_is_written_once() -> None:
    longer = after(write(NEW, page(0, total=25)))
    assert write(longer, page(0, total=25)) == Decision("ignored:page_written")
    assert write(longer, page(2)) == Decision("ignored:page_written")


def test_more_orders_than_were_counted_never_make_more_than_99_percent() -> None:
    assert after(write(NEW, page(0, rows=30, total=25))).percent == 99
    assert after(write(NEW, page(0, rows=0, total=0, after=None))).percent == 100


@pytest.mark.parametrize("status", ["succeeded", "failed", "cancelled"])
def test_nothing_changes_a_report_that_has_ended(status: str) -> None:
    ended = replace(NEW, status=status)
    over: Decision[Report] = Decision("ignored:report_over")
    assert write(ended, page(0)) == over
    assert reports.cancel(ended, LATER) == over
    assert reports.fail(ended, "x", LATER) == over
    assert status not in OPEN


def test_a_cancelled_report_plans_nothing_more() -> None:
    decision = reports.cancel(NEW, LATER)
    assert (after(decision).status, decision.cancel_jobs) == ("cancelled", ("report",))


def test_a_page_is_csv_that_any_spreadsheet_reads() -> None:
    row: dict[str, Any] = dict.fromkeys(("reason", "ended_at", "captured"))
    row |= {"order_id": "o-1", "customer_id": 'a "b", c', "placed_at": NOW, "total": 4200}
    head, line, end = as_csv([row | {"mails": ["x", "y"]}], header=True).decode().split("\r\n")
    assert head.startswith("order_id,status,reason,customer_id,currency,total,placed_at")
    assert line == 'o-1,,,"a ""b"", c",,4200,2026-01-31T09:15:00.000Z,,,,,,x y'
    assert (end, as_csv([], header=False)) == ("", b"")
