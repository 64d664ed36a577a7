"""``orderctl reports``: CSV files about the orders of a period."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from services.eventkit.envelope import format_time
from services.orderctl import tasks
from services.orderctl.client import Shop
from services.orderctl.errors import CliError
from services.orderctl.options import AsJson, Output, TaskKey, TaskLimit, TaskTimeout, TaskWait
from services.orderctl.settings import load_settings

app = typer.Typer(
    name="reports", help="Reports: CSV files about the orders of a period.", no_args_is_help=True
)

ReportId = Annotated[str, typer.Argument(metavar="ID", help="The report's id.")]
Moment = Annotated[str | None, typer.Option(help="A date, or a time as in RFC 3339; UTC.")]


@app.command()
def create(
    since: Moment = None,
    until: Moment = None,
    wait: TaskWait = False,
    output: Output = None,
    key: TaskKey = None,
    timeout: TaskTimeout = 600.0,
    json: AsJson = False,
) -> None:
    """Have a report written about the orders placed from --since to before --until.

    Without them it is about the last day. --output waits for it and downloads it.
    Exit code 1 where it does not come to be.

    Examples:

      orderctl reports create --since 2026-01-01 --until 2026-02-01 --wait

      orderctl reports create --output orders.csv
    """
    now = datetime.now(UTC)
    body = {
        "since": _moment(since) or format_time(now - timedelta(days=1)),
        "until": _moment(until) or format_time(now),
    }
    analytics = Shop(load_settings()).analytics
    headers = {"Idempotency-Key": key} if key else {}
    report = analytics.call("POST", "/reports", json=body, headers=headers)
    if wait or output:
        report = tasks.follow(analytics, report["status_url"], "the report", timeout)
        tasks.check(report, "the report")
    if output:
        tasks.fetch(analytics, report["file_url"], output)
    tasks.show(report, json)


@app.command("list")
def list_reports(
    limit: TaskLimit = 100,
    json: AsJson = False,
) -> None:
    """List the newest reports.

    Examples:

      orderctl reports list --limit 10
    """
    found = Shop(load_settings()).analytics.call("GET", "/reports", params={"limit": limit})
    names = ("report_id", "status", "percent", "rows", "since", "until", "expires_at")
    tasks.show_all(found["reports"], names, json)


@app.command()
def show(report_id: ReportId, json: AsJson = False) -> None:
    """Show one report and how far it is.

    Examples:

      orderctl reports show rep_0123456789abcdef01234567
    """
    tasks.show(_found(report_id), json)


@app.command()
def download(report_id: ReportId, output: Output = None) -> None:
    """Download a report that is ready, to stdout or a file.

    Examples:

      orderctl reports download rep_0123456789abcdef01234567 --output orders.csv
    """
    tasks.fetch(Shop(load_settings()).analytics, f"/reports/{report_id}/file", output)


@app.command()
def cancel(report_id: ReportId, json: AsJson = False) -> None:
    """Have a report written no further.

    Examples:

      orderctl reports cancel rep_0123456789abcdef01234567
    """
    analytics = Shop(load_settings()).analytics
    tasks.show(analytics.call("DELETE", f"/reports/{report_id}"), json)


def _found(report_id: str) -> Any:
    found = Shop(load_settings()).analytics.find(f"/reports/{report_id}")
    if found is None:
        raise CliError(f"there is no report {report_id}", "orderctl reports list")
    return found


def _moment(text: str | None) -> str | None:
    """As the API takes it: a date is its first moment in UTC."""
    if text is not None and re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        return f"{text}T00:00:00Z"
    return text
