"""``orderctl verify``: check that nothing was lost, doubled or left hanging."""

from typing import Annotated

import typer

from services.orderctl.client import Shop
from services.orderctl.console import err, out, print_json
from services.orderctl.options import AsJson
from services.orderctl.settings import Settings, load_settings
from services.orderctl.verify.quiet import wait_for_quiet
from services.orderctl.verify.run import Result, results_table, run_checks
from services.orderctl.verify.snapshot import load_snapshot


def verify(
    wait: Annotated[float, typer.Option(help="Seconds to wait for quiet at most.")] = 60.0,
    json: AsJson = False,
) -> None:
    """Wait until nothing moves, then check every invariant of the system.

    Looks into every database and topic, the provider's ledger and the arrived
    mails; changes nothing. Exit code 1 when a check fails.

    Examples:

      orderctl verify

      orderctl verify --wait 120 --json
    """
    settings = load_settings()
    results = verify_all(settings, Shop(settings), wait)
    if json:
        print_json([result.as_json() for result in results])
    else:
        show_results(results)
    if not all(result.finding.ok for result in results):
        raise typer.Exit(1)


def verify_all(settings: Settings, shop: Shop, wait: float) -> list[Result]:
    """Every check, once it is quiet or the wait is over."""
    with err.status("waiting for quiet") as status:
        moving = wait_for_quiet(settings, wait, lambda what: status.update(f"waiting: {what}"))
        status.update("reading databases, topics, ledger and mails")
        return run_checks(load_snapshot(settings, shop), moving)


def show_results(results: list[Result]) -> None:
    """The table and one line that sums it up."""
    out.print(results_table(results))
    failed = [result.name for result in results if not result.finding.ok]
    if failed:
        out.print(f"[bold red]{len(failed)} of {len(results)} checks failed[/]")
    else:
        out.print(f"[bold green]all {len(results)} checks ok[/]")
