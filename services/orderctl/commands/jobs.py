"""``orderctl jobs``: what services wait for the outside world for."""

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from services.orderctl.client import Shop
from services.orderctl.commands.dlq import By, OneService, Order
from services.orderctl.console import cells, note, out, print_json
from services.orderctl.errors import CliError
from services.orderctl.operations import Operations
from services.orderctl.options import AsJson
from services.orderctl.settings import load_settings
from services.orderctl.verify.databases import EMITTERS

OPEN = ("pending", "running", "dead")

app = typer.Typer(name="jobs", help="Look at jobs, and start dead ones over.", no_args_is_help=True)


@app.command("list")
def list_jobs(
    service: OneService = None,
    order: Order = None,
    status: Annotated[
        list[str] | None,
        typer.Option(help="Repeatable: pending, running, dead, failed, succeeded, cancelled."),
    ] = None,
    json: AsJson = False,
) -> None:
    """List jobs that wait, run or are dead, up to 1000 a service, with what went wrong last.

    Examples:

      orderctl jobs list --service payment

      orderctl jobs list --status dead --status failed
    """
    operations = Operations(Shop(load_settings()))
    found = [
        {"service": name, **job}
        for name in ([service] if service else EMITTERS)
        for job in operations.jobs(name, status or OPEN, order)
    ]
    if json:
        print_json(found)
        return
    if not found:
        note("no such jobs")
        return
    table = Table(box=None, pad_edge=False)
    for title in ("service", "kind", "status", "attempts", "next", "job", "order", "last error"):
        table.add_column(title, overflow="fold", no_wrap=title in {"service", "status"})
    for job in found:
        names = ("service", "kind", "status", "attempts", "run_at", "job_id", "key", "last_error")
        table.add_row(*cells(*(job[name] for name in names)))
    out.print(table)


@app.command()
def redrive(
    job: Annotated[str | None, typer.Argument(help="The job's id.")] = None,
    order: Order = None,
    service: OneService = None,
    by: By = "",
    why: Annotated[str, typer.Option(help="Why; kept with the decision.")] = "redriven by hand",
    json: AsJson = False,
) -> None:
    """Start a dead or failed job over, or all dead jobs of an order.

    The remote knows the job by the same key: what it has done already, it does not do twice.

    Examples:

      orderctl jobs redrive 4f0b54b3-a46d-5e4b-8a9f-3e1d2c3b4a5f

      orderctl jobs redrive --order 0b54b3a4-6d0e-4b0a-9f3e-1d2c3b4a5f60
    """
    if (job is None) == (order is None):
        raise CliError("give a job's id or --order", "orderctl jobs list --status dead", 2)
    operations = Operations(Shop(load_settings()), by, why)
    services = [service] if service else EMITTERS
    if job is not None:
        one = operations.redrive_job_of(services, job)
        results = [one] if one else []
    else:
        dead = [(name, one) for name in services for one in operations.jobs(name, ("dead",), order)]
        results = [operations.redrive_job(name, item["job_id"]) for name, item in dead]
    if not results:
        raise CliError("no such dead job", "orderctl jobs list --status dead --status failed")
    if json:
        print_json([result.as_json() for result in results])
        return
    for result in results:
        whose = f" {result.service}: {result.id} of {result.key}"
        out.print(Text.assemble((result.status, "green"), whose))
