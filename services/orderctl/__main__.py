"""The command line's entry: every command in one table."""

import sys

import typer
from rich.text import Text

from services.orderctl.commands import cdc, dlq, imports, jobs, keys, reports, webhooks
from services.orderctl.commands.cancel import cancel
from services.orderctl.commands.capacity import capacity
from services.orderctl.commands.demo import demo
from services.orderctl.commands.doctor import doctor
from services.orderctl.commands.lag import lag
from services.orderctl.commands.load import load
from services.orderctl.commands.place import place
from services.orderctl.commands.reemit import reemit
from services.orderctl.commands.repair import repair
from services.orderctl.commands.replay import replay
from services.orderctl.commands.show import show
from services.orderctl.commands.stuck import stuck
from services.orderctl.commands.trace import trace
from services.orderctl.commands.verify import verify
from services.orderctl.commands.watch import watch
from services.orderctl.console import err
from services.orderctl.errors import CliError

app = typer.Typer(
    name="orderctl",
    help="Place orders, watch and trace their sagas, load the system, verify it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

COMMANDS = (
    place, show, cancel, watch, trace, load, lag, verify, replay, demo, stuck, repair, reemit,
    doctor, capacity,
)  # fmt: skip
for command in COMMANDS:
    app.command()(command)
for group in (dlq.app, jobs.app, cdc.app, keys.app, webhooks.app, reports.app, imports.app):
    app.add_typer(group)


def main() -> None:
    """Run a command; an error it can explain is printed with the next step and its exit code."""
    try:
        app()
    except CliError as error:
        err.print(Text.assemble(("error: ", "bold red"), error.message), soft_wrap=True)
        if error.next_step:
            err.print(Text(f"next: {error.next_step}", style="dim"), soft_wrap=True)
        sys.exit(error.code)


if __name__ == "__main__":
    main()
