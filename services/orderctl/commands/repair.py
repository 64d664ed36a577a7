"""``orderctl repair``: re-issue what is missing for one order."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.text import Text

from services.orderctl.client import Shop
from services.orderctl.commands.dlq import By
from services.orderctl.console import confirm, note, out, print_json
from services.orderctl.mending import Outcome, Step, known, plan
from services.orderctl.operations import Operations
from services.orderctl.options import AsJson, OrderId, Yes
from services.orderctl.settings import load_settings


def repair(
    order_id: OrderId,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done.")] = False,
    yes: Yes = False,
    by: By = "",
    why: Annotated[str, typer.Option(help="Why; kept with the decisions.")] = "order repaired",
    json: AsJson = False,
) -> None:
    """Re-issue what is missing for one order.

    Runs its dead letters and dead jobs again, asks for a failed refund again, and publishes those
    of its events again that somebody who acts on them has not taken in.

    Harmless where nothing is missing: nothing is charged, mailed or reserved twice. Exit code 1
    when something failed again.

    Examples:

      orderctl repair 0b54b3a4-6d0e-4b0a-9f3e-1d2c3b4a5f60 --dry-run

      orderctl repair 0b54b3a4-6d0e-4b0a-9f3e-1d2c3b4a5f60 --yes
    """
    settings = load_settings()
    key = known(settings, order_id)
    steps = plan(settings, Operations(Shop(settings), by, why), key)
    if dry_run or not steps:
        _show(steps, json)
        return
    if any(step.asks for step in steps) and not yes:
        confirm(f"{step.service}: {step.text}" for step in steps)
    done = [(step, _done(step, json)) for step in steps]
    if json:
        print_json([_as_json(step) | {"outcome": one.text, "well": one.well} for step, one in done])
    if not all(outcome.well for _, outcome in done):
        raise typer.Exit(1)
    note(f"orderctl repair {key} --dry-run shows what is still missing")


def _done(step: Step, json: bool) -> Outcome:
    """Does it and says so at once: what comes after may fail."""
    outcome = step.do()
    if not json:
        style = "bold" if outcome.well else "bold red"
        out.print(Text.assemble(f"{step.service}: {step.text}: ", (outcome.text, style)))
    return outcome


def _show(steps: Sequence[Step], json: bool) -> None:
    if json:
        print_json([_as_json(step) for step in steps])
        return
    if not steps:
        out.print("[green]nothing is missing[/]")
    for step in steps:
        out.print(f"{step.service}: would {step.text}", markup=False)


def _as_json(step: Step) -> dict[str, str]:
    return {"action": step.action, "service": step.service, "what": step.text}
