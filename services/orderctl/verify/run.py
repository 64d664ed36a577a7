"""Runs every check and shows what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from services.orderctl.verify.checks import CHECKS
from services.orderctl.verify.data import Snapshot
from services.orderctl.verify.finding import Finding
from services.orderctl.verify.quiet import Motion

SHOWN = 5


@dataclass(frozen=True, slots=True)
class Result:
    """A check's name, its rule in words, and what it found."""

    name: str
    rule: str
    finding: Finding

    def as_json(self) -> dict[str, Any]:
        """Everything, with all problems."""
        return {
            "check": self.name,
            "rule": self.rule,
            "ok": self.finding.ok,
            "checked": self.finding.checked,
            "problems": list(self.finding.problems),
        }


def run_checks(snapshot: Snapshot, still_moving: Motion | None) -> list[Result]:
    """Every check over one snapshot; that it was quiet is the first."""
    moving = (str(still_moving),) if still_moving else ()
    quiet = Result("quiet", "nothing is under way any more", Finding(1, moving))
    checks = (Result(check.name, check.rule, check.look(snapshot)) for check in CHECKS)
    return [quiet, *checks]


def results_table(results: Sequence[Result]) -> Table:
    """One line a check: ok or failed, over how many, and the first problems of a failed one."""
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    table.add_column("check", no_wrap=True)
    table.add_column("over", justify="right")
    table.add_column("rule", overflow="fold")
    for result in results:
        found = result.finding
        state = "[green]ok[/]" if found.ok else "[bold red]failed[/]"
        table.add_row(state, result.name, str(found.checked), result.rule)
        for problem in found.problems[:SHOWN]:
            table.add_row("", "", "", Text(problem, style="red"))
        if (more := len(found.problems) - SHOWN) > 0:
            table.add_row("", "", "", f"[red]and {more} more (--json shows all)[/]")
    return table
