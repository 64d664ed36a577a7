"""Where output goes: results to stdout, remarks to stderr; colour only on a terminal."""

import json
from collections.abc import Iterable
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

from services.orderctl.errors import CliError

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    """Write one JSON document to stdout; dates become ISO text."""
    out.print(json.dumps(value, indent=2, default=str), markup=False, soft_wrap=True)


def note(message: str) -> None:
    """Write a remark to stderr, so that it never mixes with a result that is piped on."""
    err.print(message, style="dim", markup=False)


def cells(*values: Any) -> list[Text]:
    """Cells of a table, as they are: what comes from data is no markup. None is an empty one."""
    return [Text(_text(value)) for value in values]


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def confirm(what: Iterable[str]) -> None:
    """Says what would be done and asks for it; `CliError` unless somebody agrees."""
    for line in what:
        note(line)
    try:
        agreed = typer.confirm("Do this?", err=True)
    except typer.Abort as error:
        raise CliError("nobody answered; nothing was done", "--yes does not ask", 2) from error
    if not agreed:
        raise CliError("nothing was done", code=2)
