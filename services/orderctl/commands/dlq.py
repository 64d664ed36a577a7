"""``orderctl dlq``: what services have put aside, and what becomes of it."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from services.orderctl import projector_letters
from services.orderctl.client import Shop
from services.orderctl.console import cells, confirm, note, out, print_json
from services.orderctl.errors import CliError
from services.orderctl.operations import JOB, LETTER, Aside, Decided, Operations, login_name
from services.orderctl.options import AsJson, Yes
from services.orderctl.projector_letters import PROJECTOR, open_letters
from services.orderctl.redrive import by_reason, run, wanted
from services.orderctl.settings import Settings, load_settings
from services.orderctl.verify.databases import EMITTERS

SHOWN_ERROR = 90

app = typer.Typer(
    name="dlq",
    help="Look at dead letters and dead jobs, run them again, or give them up.",
    no_args_is_help=True,
)

OneService = Annotated[
    str | None, typer.Option("--service", "-s", help="Only this service: order, payment, ...")
]
Order = Annotated[str | None, typer.Option("--order", "-o", help="Only of this order.")]
By = Annotated[str, typer.Option("--by", help="Who decides; your login name unless given.")]


@app.command("list")
def list_letters(
    service: OneService = None,
    order: Order = None,
    reason: Annotated[str | None, typer.Option(help="Only with this reason.")] = None,
    json: AsJson = False,
) -> None:
    """List what is open, with a count by reason: dead letters, parked events, dead jobs.

    Examples:

      orderctl dlq list

      orderctl dlq list --reason rule --service payment
    """
    settings = load_settings()
    found = _open(settings, service, order, reason)
    if json:
        print_json({"by_reason": by_reason(found), "letters": [item.as_json() for item in found]})
        return
    if not found:
        note("nothing is put aside")
        return
    out.print(_histogram(found))
    out.print()
    out.print(_table(found))


@app.command()
def show(
    letter: Annotated[str, typer.Argument(help="Its id, as orderctl dlq list prints it.")],
    service: OneService = None,
) -> None:
    """Show one letter with its record: headers, fields where they can be read, bytes in base64.

    Example: orderctl dlq show 5c0f6a2e-52a9-5d2e-9d55-3a1b6f0a1c11
    """
    operations = Operations(Shop(load_settings()))
    services = [service] if service else EMITTERS
    found = {name: operations.whole_letter(name, letter) for name in services}
    shown = [{"service": name, **item} for name, item in found.items() if item]
    if not shown:
        raise CliError(
            f"no service has a letter {letter}",
            "orderctl dlq list shows what is open; orderctl jobs list shows jobs",
        )
    print_json(shown[0] if len(shown) == 1 else shown)


@app.command()
def redrive(
    order: Order = None,
    letter: Annotated[
        str | None, typer.Option("--letter", "-l", help="This letter or dead job.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All that is open and not quarantined.")
    ] = False,
    service: OneService = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go where.")] = False,
    by: By = "",
    why: Annotated[str, typer.Option(help="Why; kept with the decision.")] = "redriven by hand",
    json: AsJson = False,
) -> None:
    """Run letters through the rules again, those of an order in their order, and dead jobs too.

    Exit code 1 when one of them failed again.

    Examples:

      orderctl dlq redrive --all --dry-run

      orderctl dlq redrive --order 0b54b3a4-6d0e-4b0a-9f3e-1d2c3b4a5f60 --why "mended in 1.2.1"
    """
    if (order is not None) + (letter is not None) + everything != 1:
        raise CliError("give one of --order, --letter and --all", "--all --dry-run is harmless", 2)
    operations = Operations(Shop(load_settings()), by, why)
    services = [service] if service else EMITTERS
    found = wanted(list(operations.aside(services, key=order)), order, letter, everything)
    if not found:
        raise CliError("nothing open matches", "orderctl dlq list shows what is open")
    if dry_run:
        _show_plan(found, json)
        return
    _show_decided(run(operations, found, everything), json)


@app.command()
def discard(
    letter: Annotated[str, typer.Argument(help="The letter's id.")],
    reason: Annotated[str, typer.Option("--reason", help="Why it is given up; kept for ever.")],
    service: OneService = None,
    by: By = "",
    yes: Yes = False,
    json: AsJson = False,
) -> None:
    """Give a letter up for good; what was parked behind it runs. Asks, unless told not to.

    Examples:

      orderctl dlq discard 5c0f6a2e-52a9-5d2e-9d55-3a1b6f0a1c11 --reason "a test record"

      orderctl dlq discard 5c0f6a2e-52a9-5d2e-9d55-3a1b6f0a1c11 --reason "a test record" --yes
    """
    settings = load_settings()
    items = _open(settings, service, None, None)
    found = [item for item in items if item.kind == LETTER and item.id == letter]
    holders = {item.service for item in found}
    if not holders:
        raise CliError(f"no open letter {letter}", "orderctl dlq list shows what is open")
    if len(holders) > 1:
        names = ", ".join(sorted(holders))
        raise CliError(f"{names} each have this letter", "say which with --service", 2)
    holder = holders.pop()
    if not yes:
        one = found[0]
        confirm([f"{holder}: give up {one.what} of {one.key or 'no order'} for good ({reason})"])
    if holder == PROJECTOR:
        done = projector_letters.discard(settings, letter, by or login_name(), reason)
    else:
        done = Operations(Shop(settings), by, reason).discard(holder, letter)
    _show_decided(done, json)


def _open(
    settings: Settings, service: str | None, order: str | None, reason: str | None
) -> list[Aside]:
    operations = Operations(Shop(settings))
    found: list[Aside] = []
    if service in (None, *EMITTERS):
        found += operations.aside([service] if service else EMITTERS, order, reason)
    elif service != PROJECTOR:
        operations.service(service or "")
    if service in (None, PROJECTOR):
        found += [
            item
            for item in open_letters(settings)
            if (order is None or item.key == order) and (reason is None or item.reason == reason)
        ]
    return found


def _histogram(items: Sequence[Aside]) -> Table:
    counts = by_reason(items)
    most = max(counts.values())
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right")
    table.add_column(style="yellow")
    for reason, count in counts.items():
        table.add_row(*cells(reason, count), "█" * max(1, round(30 * count / most)))
    return table


def _table(items: Sequence[Aside]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("service", "status", "reason", "what", "attempts", "id", "order", "why"):
        table.add_column(name, overflow="fold", no_wrap=name in {"service", "status"})
    for item in items:
        why = item.error.splitlines()[0][:SHOWN_ERROR] if item.error else ""
        what = (item.service, item.status, item.reason, item.what, item.attempts, item.id)
        table.add_row(*cells(*what, item.key or "-", why))
    return table


def _show_plan(items: Sequence[Aside], json: bool) -> None:
    if json:
        plan = [item.as_json() for item in items]
        print_json({"dry_run": True, "by_reason": by_reason(items), "letters": plan})
        return
    out.print(_histogram(items))
    for item in items:
        where = "starts over at" if item.kind == JOB else f"from {item.place} to the rules of"
        what = f"{item.what} of {item.key or 'no order'}"
        out.print(f"{item.status:<11} {what} {where} {item.service}", markup=False)
    note(f"{len(items)} would be redriven; nothing was changed")


def _show_decided(results: Sequence[Decided], json: bool) -> None:
    if json:
        print_json([result.as_json() for result in results])
    else:
        for result in results:
            style = "green" if result.well else "red"
            whose = f"{result.service}: {result.id} of {result.key or 'no order'}"
            line = Text.assemble((f"{result.status:<11}", style), f" {whose}: {result.outcome}")
            out.print(line)
    if not all(result.well for result in results):
        raise typer.Exit(1)
