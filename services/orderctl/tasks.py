"""Long work that a service does meanwhile, reports and imports: follow it, fetch its files."""

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import httpx
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from services.orderctl.client import Http
from services.orderctl.console import cells, err, note, out, print_json
from services.orderctl.errors import CliError

OPEN: Final = frozenset({"pending", "running"})
SUCCEEDED: Final = "succeeded"
_POLL: Final = 5.0


def follow(http: Http, path: str, what: str, timeout: float) -> Any:
    """The work once it has ended, with a bar meanwhile. `CliError` where it takes longer."""
    deadline = time.monotonic() + timeout
    columns = (
        TextColumn(what),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[status]}"),
    )
    with Progress(*columns, TimeElapsedColumn(), console=err, transient=True) as bar:
        task = bar.add_task(what, total=100, status="")
        tag = ""
        while True:
            left = deadline - time.monotonic()
            answer = http.send("GET", path, params=_wait(left), headers=_known(tag))
            if answer.status_code != httpx.codes.NOT_MODIFIED:
                found = http.read(answer)
                tag = answer.headers["ETag"]
                bar.update(task, completed=found["percent"], status=found["status"])
                if found["status"] not in OPEN:
                    return found
            if left <= 0:
                raise CliError(
                    f"{what} is not done after {timeout:.0f} s",
                    "it goes on; show says how far it is",
                )


def fetch(http: Http, path: str, target: Path | None) -> None:
    """Writes what a service sends to a file, or to stdout; `CliError` where it breaks off."""
    if target is None:
        http.download(path, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    draft = target.with_name(f"{target.name}.part")
    with draft.open("wb") as file:
        size = http.download(path, file)
    draft.replace(target)
    note(f"{size} bytes in {target}")


def show(found: Mapping[str, Any], json: bool) -> None:
    """One piece of work, field by field."""
    if json:
        print_json(found)
        return
    width = max(map(len, found))
    for name, value in found.items():
        if value is not None:
            line = Text.assemble((f"{name:<{width}}", "dim"), f"  {value}")
            out.print(line, soft_wrap=True)


def show_all(found: Sequence[Mapping[str, Any]], names: Sequence[str], json: bool) -> None:
    """Several pieces of work, a line each with the fields of these names."""
    if json:
        print_json(found)
        return
    if not found:
        note("there is none")
        return
    table = Table(*names, box=None, pad_edge=False)
    table.columns[0].min_width = max(len(one[names[0]]) for one in found)  # an id is whole
    for one in found:
        table.add_row(*cells(*(one[name] for name in names)))
    out.print(table)


def check(found: Mapping[str, Any], what: str, next_step: str = "") -> None:
    """`CliError` where the work has ended otherwise than well."""
    if found["status"] not in OPEN | {SUCCEEDED}:
        because = f": {found['reason']}" if found.get("reason") else ""
        raise CliError(f"{what} has {found['status']}{because}", next_step)


def _wait(left: float) -> dict[str, int]:
    return {"wait": int(max(0.0, min(_POLL, left)))}


def _known(tag: str) -> dict[str, str]:
    return {"If-None-Match": tag} if tag else {}
