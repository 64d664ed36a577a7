"""Rebuilds beside the live model, as ``orderctl replay --shadow`` and its sisters run them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TypeVar

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from services.analytics.rebuild import FiguresModel
from services.eventkit.rebuild import rebuilder as library
from services.eventkit.rebuild.generations import Generation
from services.eventkit.rebuild.model import ReadModel, RebuildFailed, RebuildRefused
from services.orderctl.console import err, out, print_json
from services.orderctl.errors import CliError
from services.orderctl.failures import UNDERNEATH, failed
from services.orderctl.settings import Settings, missing
from services.orderctl.steps import traced
from services.projector.rebuild import OrderModel

T = TypeVar("T")


class Model(StrEnum):
    """What can be rebuilt."""

    PROJECTOR = "projector"
    ANALYTICS = "analytics"


def rebuild(
    settings: Settings, model: Model, processes: int, swap: bool, accept: bool, json: bool
) -> None:
    """Builds a generation and swaps it in; CliError where differences block the swap."""
    with _rebuilder(settings, model, processes) as rebuilder:
        report = _explained(
            lambda: rebuilder.rebuild(swap=swap, accept=accept),
            f"{_command(model)} --shadow goes on, --drop removes all but the live generation",
        )
    if json:
        print_json(_as_json(report))
    else:
        _print(report)
    if swap and not report.swapped:
        raise CliError(
            f"{report.comparison.differing} rows differ: generation {report.generation.number} is "
            "kept aside, the live model is as it was",
            f"find out which is right; {_command(model)} --shadow --accept-differences swaps, "
            "--drop removes all but the live generation",
        )


def rollback(settings: Settings, model: Model, json: bool) -> None:
    """Goes back to the generation that was kept."""
    with _rebuilder(settings, model) as rebuilder:
        report = _explained(
            rebuilder.rollback,
            f"{_command(model)} --rollback again: the kept generation is still there",
        )
    if json:
        print_json(_as_json(report))
    else:
        _print(report)


def drop(settings: Settings, model: Model, json: bool) -> None:
    """Removes what is not current."""
    with _rebuilder(settings, model) as rebuilder:
        gone = _explained(rebuilder.drop, f"{_command(model)} --drop again")
    if json:
        print_json([generation.number for generation in gone])
    else:
        out.print(f"[bold]{len(gone)}[/] generations removed")


def _known(settings: Settings, model: Model) -> tuple[ReadModel, str]:
    """The read model, and the address of its database for the account that owns it."""
    if model is Model.PROJECTOR:
        known: tuple[ReadModel, str] = (
            OrderModel(settings.registry_url),
            settings.projector_database_url,
        )
    else:
        figures = FiguresModel(settings.registry_url, settings.kafka_bootstrap)
        known = figures, settings.analytics_database_url
    if not known[1]:
        raise missing(f"SAGA_{model.upper()}_DATABASE_URL")
    return known


@contextmanager
def _rebuilder(settings: Settings, model: Model, processes: int = 0) -> Iterator[library.Rebuilder]:
    known, url = _known(settings, model)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), _Rate())
    attributes = {"saga.model": known.name, "saga.version": known.version}
    with (
        traced("rebuild", settings.otlp_endpoint, attributes) as steps,
        Progress(*columns, TimeRemainingColumn(), console=err, transient=True) as bar,
    ):
        task = bar.add_task("looking", total=None)

        def progress(now: library.Progress) -> None:
            steps.at(now.step)
            if bar.tasks[task].description != now.step:
                bar.reset(task, description=now.step, total=now.total or None)
            bar.update(task, completed=now.done)

        yield library.Rebuilder(
            known,
            url,
            settings.kafka_bootstrap,
            processes=processes,
            progress=progress,
        )


class _Rate(ProgressColumn):
    """Events a second."""

    def render(self, task: Task) -> Text:
        """The rate of the last half minute."""
        return Text(f"{task.speed:,.0f}/s" if task.speed else "")


def _explained(call: Callable[[], T], then: str) -> T:
    """The call's result; CliError with ``then``, what to do next, where it has none."""
    try:
        return call()
    except RebuildRefused as error:
        raise CliError(str(error), "orderctl replay --help") from error
    except RebuildFailed as error:
        raise CliError(str(error), then) from error
    except UNDERNEATH as error:
        raise failed(error, then) from error


def _command(model: Model) -> str:
    """How the command for this model begins."""
    return "orderctl replay" if model is Model.PROJECTOR else f"orderctl replay --model {model}"


def _print(report: library.Report) -> None:
    found = report.comparison
    if found.rows:
        table = Table(box=None, pad_edge=False)
        for name in ("table", "live", "rebuilt"):
            table.add_column(name, justify="left" if name == "table" else "right")
        for name, (live, rebuilt) in found.rows.items():
            table.add_row(name, f"{live:,}", f"{rebuilt:,}")
        out.print(table)
    for one in found.sample:
        out.print(f"{one.table} {one.key}: {one.what}", markup=False, soft_wrap=True)
    if found.differing > len(found.sample):
        out.print(f"and {found.differing - len(found.sample)} more")
    if report.swapped:
        out.print(
            f"generation [bold]{report.generation.number}[/] is live, with {report.events:,} "
            f"events; {report.live.number} is kept. Nothing was taken in for "
            f"{report.stopped:.2f} s",
            soft_wrap=True,
        )


def _as_json(report: library.Report) -> dict[str, object]:
    found = report.comparison
    return {
        "swapped": report.swapped,
        "generation": _generation(report.generation),
        "was": _generation(report.live),
        "events": report.events,
        "stopped_seconds": report.stopped,
        "rows": {name: {"live": a, "rebuilt": b} for name, (a, b) in found.rows.items()},
        "differing": found.differing,
        "differences": [
            {"table": one.table, "key": one.key, "what": one.what} for one in found.sample
        ],
    }


def _generation(generation: Generation) -> dict[str, int]:
    return {"number": generation.number, "version": generation.version}
