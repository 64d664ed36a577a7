"""``orderctl cdc``: whether every outbox is being read, and what to do where one is not."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from infra.names import EMITTERS
from services.orderctl import relays
from services.orderctl.commands.reemit import emit
from services.orderctl.console import err, note, out, print_json
from services.orderctl.errors import CliError
from services.orderctl.options import AsJson
from services.orderctl.recovery import new_slot
from services.orderctl.reemit.missing import never_published
from services.orderctl.relays import Status
from services.orderctl.settings import load_settings

app = typer.Typer(name="cdc")


@app.callback(invoke_without_command=True)
def status(context: typer.Context, json: AsJson = False) -> None:
    """Show whether every outbox is read: connector, replication slot, unpublished events.

    A second's worth of unpublished events is usual: they are counted until the relay has confirmed
    them. Exit code 1 when an outbox is not being read.

    Examples:

      orderctl cdc

      orderctl cdc recover payment
    """
    if context.invoked_subcommand:
        return
    found = relays.read(load_settings())
    if json:
        print_json([one.as_json() for one in found])
    else:
        out.print(_table(found))
        for one in found:
            if one.cause:
                note(f"{one.service}: {one.cause[:300]}")
            if one.remedy:
                out.print(f"[yellow]{one.service}[/]: {one.remedy}")
    if not all(one.well for one in found):
        raise typer.Exit(1)


@app.command()
def recover(
    service: Annotated[str, typer.Argument(help="Whose relay: order, payment, ...")],
    force: Annotated[
        bool, typer.Option("--force", help="Also where the relay seems to be well.")
    ] = False,
) -> None:
    """Give a relay that has lost its place a new slot, and publish what it has passed over.

    Events that reached their topic are not sent again. Orders go on meanwhile.

    Example: orderctl cdc recover payment
    """
    if service not in EMITTERS:
        raise CliError(f"{service} has no outbox", f"one of: {', '.join(EMITTERS)}", 2)
    settings = load_settings()
    found = relays.settled(settings, service)
    if not (found.broken or force):
        raise CliError(
            f"the relay of {service} has not lost its place (slot {found.relay.state}, "
            f"connector {found.connector})",
            found.remedy or "nothing is to be done; --force does it all the same",
        )
    with err.status("looking") as shown:
        new_slot(settings, service, shown.update)
        shown.update("comparing the outbox with its topics")
        sent = emit(settings, service, never_published(settings, service))
    out.print(f"[green]{service} is read again[/]; {len(sent)} events were missing and are sent")


def _table(found: Sequence[Status]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("service", "connector", "slot", "state"):
        table.add_column(name, no_wrap=True)
    for name in ("lag", "unpublished", "oldest"):
        table.add_column(name, justify="right")
    for one in found:
        shown = one.as_json()
        style = "green" if one.well else "red"
        table.add_row(
            one.service,
            Text(one.connector, style="" if one.connector == relays.RUNNING else "red"),
            one.relay.slot,
            Text(one.relay.state, style=style),
            _bytes(one.relay.lag_bytes),
            str(one.relay.unpublished if one.relay.unpublished is not None else "?"),
            f"{shown['oldest_unpublished_seconds']:.1f} s" if one.relay.oldest else "-",
        )
    return table


def _bytes(count: int | None) -> str:
    if count is None:
        return "?"
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"
