"""The embedded stack's commands: ``python -m infra.local up``."""

import json
import os
import sys
from typing import Annotated

import typer
from rich.markup import escape

from infra.jaeger import binary
from infra.local import layout as layouts
from infra.local import lifecycle, status
from infra.local.console import console, errors
from infra.local.errors import StackError
from infra.local.supervisor import Supervisor

app = typer.Typer(
    help="Runs the whole order saga on this machine, without Docker.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
Names = Annotated[list[str] | None, typer.Argument(help="Processes by name; all when none.")]
Name = Annotated[str, typer.Argument(help="A process by name, as `status` lists them.")]


@app.command()
def up(
    services: Annotated[
        bool, typer.Option(help="Start the services; without them, run them in a debugger.")
    ] = True,
) -> None:
    """Start everything and wait until it is ready. A second run changes nothing.

    Example: PORT_BASE=22800 SAGA_STATE_DIR=.state-2 python -m infra.local up
    """
    try:
        stack = lifecycle.up(services)
    except KeyboardInterrupt:
        errors.print("Interrupted. `make up` goes on from here; `make down` stops what runs.")
        raise typer.Exit(130) from None
    console.print(f"Order API  {stack.ports.url('order')}/docs")
    building = binary.status(stack.layout.cache)
    console.print(f"Jaeger     {building or stack.ports.url('jaeger')}")


@app.command()
def down() -> None:
    """Stop everything; the data stays."""
    lifecycle.down()


@app.command()
def purge() -> None:
    """Stop everything and delete the data; downloads stay."""
    lifecycle.purge()


@app.command("status")
def show_status(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List every process: its state, its memory, and whether it does its work.

    Exit code 0: all ready. 1: something is not. 3: the stack is not running.
    """
    rows = status.collect()
    if as_json:
        print(json.dumps([status.as_dict(row) for row in rows], indent=2))  # noqa: T201
    else:
        status.show(rows)
    raise typer.Exit(status.exit_code(rows))


@app.command()
def logs(
    names: Names = None,
    lines: Annotated[int, typer.Option("--lines", "-n", help="Lines to begin with.")] = 20,
    follow: Annotated[bool, typer.Option(help="Go on as lines are written.")] = True,
) -> None:
    """Show the logs, and follow them until interrupted.

    Example: python -m infra.local logs order payment --no-follow -n 100
    """
    folder = layouts.load().logs
    files = [folder / f"{name}.log" for name in names or []] or sorted(folder.glob("*.log"))
    missing = [file.stem for file in files if not file.exists()]
    if missing or not files:
        raise StackError(
            f"there is no log of {', '.join(missing) or 'any process'}", "See `status`."
        )
    sys.stdout.flush()
    os.execvp("tail", ["tail", "-n", str(lines), *(["-F"] if follow else []), *map(str, files)])  # noqa: S606


@app.command()
def stop(name: Name) -> None:
    """Stop one process until it is started again, for example to run it in a debugger."""
    _running(name).stop(name)


@app.command()
def start(name: Name) -> None:
    """Start one process that was stopped."""
    _running(name).start(name)


@app.command()
def restart(name: Name) -> None:
    """Restart one process, for example after a change of its code."""
    _running(name).restart(name)


def _running(name: str) -> Supervisor:
    supervisor = Supervisor(layouts.load())
    if not supervisor.running():
        raise StackError("the stack is not running", "Start it: make up")
    if name not in (known := supervisor.states()):
        raise StackError(f"there is no process {name}", f"Choose one of: {', '.join(known)}.")
    return supervisor


def main() -> int:
    """Run a command; a problem is told in a sentence and with what to do next."""
    try:
        app()
    except StackError as error:
        errors.print(f"[red]✗[/red] {escape(error.problem)}", soft_wrap=True)
        errors.print(f"  → {escape(error.next_step)}", soft_wrap=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
