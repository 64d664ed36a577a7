"""``orderctl demo``: about 30 orders of every ending, shown and checked."""

import shutil
import sys

import typer

from services.orderctl.client import Shop
from services.orderctl.commands.verify import show_results, verify_all
from services.orderctl.console import note, out
from services.orderctl.demo.orders import ORDERS, one_of_each, place_all
from services.orderctl.demo.show import addresses, heading, one_trace, timelines
from services.orderctl.load.report_table import show_report
from services.orderctl.settings import load_settings


def demo() -> None:
    """Place orders of every ending, print their timelines, verify everything.

    Takes about half a minute. Exit code 1 when a check fails.

    Example: orderctl demo
    """
    settings = load_settings()
    shop = Shop(settings)
    note(f"placing {sum(ORDERS.values())} orders, some slow on purpose")
    placed, report = place_all(settings, shop)
    results = verify_all(settings, shop, wait=60.0)

    heading("What happened, by kind of order: each event under the one that caused it")
    timelines(shop, one_of_each(placed))
    heading("How long it took")
    show_report(report)
    heading("Checks")
    show_results(results)
    heading("One more order, as a trace")
    one_trace(shop)
    heading("Where to go on")
    addresses(settings, command_name())
    if not all(result.finding.ok for result in results):
        out.print("\n[bold red]a check failed: see above[/]")
        raise typer.Exit(1)


def command_name() -> str:
    """How this command is called from here: its bare name only where that is on PATH."""
    if shutil.which("orderctl"):
        return "orderctl"
    return "python -m services.orderctl" if sys.argv[0].endswith(".py") else sys.argv[0]
