"""``orderctl doctor``: everything looked at once, with the command that helps."""

import typer
from rich.text import Text

from services.orderctl.console import err, note, out, print_json
from services.orderctl.diagnosis import Doctor
from services.orderctl.options import AsJson
from services.orderctl.settings import load_settings


def doctor(json: AsJson = False) -> None:
    """Look at everything, and name for each problem the command that helps.

    Processes, broker and consumer groups, connectors and replication slots, schema ids, dead
    letters, jobs, circuit breakers, stuck orders, the read model, the disk. Changes nothing. Exit
    code 1 when something is not well.

    Examples:

      orderctl doctor

      orderctl doctor --json
    """
    with err.status("looking"):
        findings = Doctor(load_settings()).look()
    if json:
        print_json([finding.as_json() for finding in findings])
    else:
        for finding in findings:
            mark, style = ("✓", "green") if finding.well else ("✗", "red")
            out.print(Text.assemble((f"{mark} {finding.check:<11}", style), finding.looked_at))
            for problem in finding.problems:
                out.print(Text(f"    {problem.text}"))
                out.print(Text(f"      -> {problem.remedy}", style="dim"))
    if not all(finding.well for finding in findings):
        note("docs/operations.md has a runbook for each of these")
        raise typer.Exit(1)
