"""``orderctl imports``: files of deliveries, added to the stock."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from services.orderctl import tasks
from services.orderctl.client import Shop
from services.orderctl.errors import CliError
from services.orderctl.options import AsJson, Output, TaskKey, TaskLimit, TaskTimeout, TaskWait
from services.orderctl.settings import load_settings

app = typer.Typer(
    name="imports", help="Imports: files of deliveries, added to the stock.", no_args_is_help=True
)

PATH = "/stock/imports"
ImportId = Annotated[str, typer.Argument(metavar="ID", help="The import's id.")]


class Mode(StrEnum):
    """How much of a file is applied where a row is wrong."""

    ALL = "all"
    ROWS = "rows"


@app.command()
def start(
    file: Annotated[
        Path, typer.Argument(help="CSV with the header sku,quantity.", exists=True, dir_okay=False)
    ],
    mode: Annotated[
        Mode, typer.Option(help="all: nothing unless every row is right; rows: those that are.")
    ] = Mode.ALL,
    wait: TaskWait = False,
    key: TaskKey = None,
    timeout: TaskTimeout = 600.0,
    json: AsJson = False,
) -> None:
    """Send a file and have it added to the stock.

    Exit code 1 where it fails, with --wait also where rows were wrong.

    Examples:

      orderctl imports start deliveries.csv --wait

      orderctl imports start deliveries.csv --mode rows --key 2026-01-31 --wait
    """
    inventory = Shop(load_settings()).inventory
    headers = {"Content-Type": "text/csv"} | ({"Idempotency-Key": key} if key else {})
    with file.open("rb") as content:
        params = {"mode": mode.value}
        found = inventory.call("POST", PATH, params=params, content=content, headers=headers)
    if wait:
        found = tasks.follow(inventory, found["status_url"], "the import", timeout)
    tasks.show(found, json)
    next_step = f"orderctl imports errors {found['import_id']}"
    tasks.check(found, "the import", next_step)
    if found["invalid"]:
        raise CliError(f"{found['invalid']} rows were wrong and are not applied", next_step)


@app.command("list")
def list_imports(limit: TaskLimit = 100, json: AsJson = False) -> None:
    """List the newest imports.

    Examples:

      orderctl imports list --limit 10
    """
    found = Shop(load_settings()).inventory.call("GET", PATH, params={"limit": limit})
    names = ("import_id", "status", "reason", "lines", "invalid", "applied", "requested_at")
    tasks.show_all(found["imports"], names, json)


@app.command()
def show(import_id: ImportId, json: AsJson = False) -> None:
    """Show one import and how far it is.

    Examples:

      orderctl imports show imp_0123456789abcdef01234567
    """
    found = Shop(load_settings()).inventory.find(f"{PATH}/{import_id}")
    if found is None:
        raise CliError(f"there is no import {import_id}", "orderctl imports list")
    tasks.show(found, json)


@app.command()
def errors(import_id: ImportId, output: Output = None) -> None:
    """Download the lines at fault, each with what is wrong with it, to stdout or a file.

    Examples:

      orderctl imports errors imp_0123456789abcdef01234567 --output wrong.csv
    """
    tasks.fetch(Shop(load_settings()).inventory, f"{PATH}/{import_id}/errors", output)


@app.command()
def cancel(import_id: ImportId, json: AsJson = False) -> None:
    """Have nothing more of a file applied; by row, what was applied stays.

    Examples:

      orderctl imports cancel imp_0123456789abcdef01234567
    """
    inventory = Shop(load_settings()).inventory
    tasks.show(inventory.call("DELETE", f"{PATH}/{import_id}"), json)
