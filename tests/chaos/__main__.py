"""``python -m tests.chaos``: kill anything, and see what becomes of the orders."""

import json as jsons
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markdown import Markdown

from infra.local.errors import StackError
from infra.local.layout import ROOT
from services.orderctl.errors import CliError
from tests.chaos.campaign import MOST_SECONDS, Campaign
from tests.chaos.own_stack import own_stack
from tests.chaos.page import page
from tests.chaos.schedule import schedule
from tests.chaos.verdict import Options, Verdict

OUT = ROOT / ".state-chaos-verdicts"
out, err = Console(highlight=False), Console(stderr=True, highlight=False)


def main(
    seed: Annotated[int, typer.Option(help="Same seed, same schedule.")] = 1,
    minutes: Annotated[float, typer.Option(help="Length of the schedule.", min=0.25)] = 3.0,
    rate: Annotated[float, typer.Option(help="Orders a second.", min=0.1, max=100)] = 5.0,
    plan: Annotated[bool, typer.Option("--plan", help="Only print the schedule.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the stack running.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
    folder: Annotated[Path, typer.Option("--out", help="Where verdicts are written.")] = OUT,
) -> None:
    """Place orders while everything is killed, stopped, paused and cut off, then check them all.

    Starts a stack of its own (ports from 23800, state in .state-chaos; CHAOS_PORT_BASE and
    CHAOS_STATE_DIR move it). An action waits until the system has recovered from the one before,
    30 s at most, so a slow machine takes longer than --minutes.

    Exit code 0: nothing lost, doubled or stuck. 1: something was. 2: wrong options. 3: the stack
    could not be started or watched.

    Examples:

      python -m tests.chaos --seed 7 --minutes 15

      python -m tests.chaos --seed 7 --minutes 15 --plan
    """
    # Like Ctrl-C: the stack is stopped on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    options = Options(seed, minutes, rate)
    if plan:
        _show_plan(options, json)
        return
    verdict = _run(options, keep)
    text = page(verdict, MOST_SECONDS)
    data = jsons.dumps(verdict.as_json(), indent=2)
    _write(folder, f"seed-{seed}", text, data)
    if json:
        out.print(data, markup=False, soft_wrap=True)
    else:
        out.print(Markdown(text) if out.is_terminal else text, soft_wrap=True)
    raise typer.Exit(0 if verdict.held else 1)


def _show_plan(options: Options, json: bool) -> None:
    planned = schedule(options.seed, options.minutes * 60)
    if json:
        actions = [
            {"at": a.at, "kind": a.kind, "target": a.target, "lasts": a.lasts} for a in planned
        ]
        out.print(jsons.dumps(actions, indent=2), markup=False, soft_wrap=True)
        return
    for action in planned:
        out.print(f"{action.at:6.0f} s  {action}", markup=False)


def _run(options: Options, keep: bool) -> Verdict:
    try:
        with own_stack(keep) as stack, err.status("placing the first orders") as status:
            return Campaign(stack, options, tell=err.print, show=status.update).run()
    except StackError as error:
        err.print(f"[red]✗[/red] {error.problem}\n  → {error.next_step}", soft_wrap=True)
    except CliError as error:
        err.print(f"[red]✗[/red] {error.message}\n  → {error.next_step}", soft_wrap=True)
    raise typer.Exit(3)


def _write(folder: Path, name: str, text: str, data: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(text)
    (folder / f"{name}.json").write_text(data + "\n")
    err.print(f"Written: {folder / name}.md and .json", style="dim")


if __name__ == "__main__":
    typer.run(main)
