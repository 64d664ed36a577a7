"""The report of a load for people."""

from rich.table import Table
from rich.text import Text

from services.orderctl.console import out
from services.orderctl.load.report import HOPS_TO_CONFIRMED, Report
from services.orderctl.percentiles import Percentiles


def show_report(report: Report) -> None:
    """Print latencies, rates, endings and the ratio to the relay."""
    out.print(latency_table(report))
    out.print()
    out.print(
        f"{report.placed} placed, {sum(report.endings.values())} ended in {report.seconds:.1f} s: "
        f"[bold]{report.completed_per_second:.1f} completed/s[/]"
    )
    out.print("endings: " + ", ".join(f"{name} {n}" for name, n in report.endings.items()))
    _show_ratio(report)
    _show_trouble(report)


def latency_table(report: Report) -> Table:
    """Milliseconds by what was measured."""
    table = Table(box=None, pad_edge=False)
    table.add_column("milliseconds")
    for name in ("count", "p50", "p95", "p99", "max"):
        table.add_column(name, justify="right")
    _add(table, "POST answered", report.post)
    for name, found in report.latency.items():
        _add(table, f"POST to {name}", found)
    _add(table, "POST to confirmed, as read from the topic", report.seen.get("confirmed"))
    _add(table, "relay hop: outbox row to reader", report.hop)
    for topic, found in report.hop_by_topic.items():
        _add(table, f"  {topic}", found)
    return table


def _add(table: Table, name: str, found: Percentiles | None) -> None:
    if found is not None:
        numbers = (found.p50, found.p95, found.p99, found.max)
        table.add_row(name, str(found.count), *(f"{number:.0f}" for number in numbers))


def _show_ratio(report: Report) -> None:
    p50, p99 = report.ratio("p50"), report.ratio("p99")
    if p50 is None or p99 is None or report.hop is None:
        return
    three = HOPS_TO_CONFIRMED * report.hop.p50
    out.print(
        f"POST to confirmed over three relay hops ({three:.0f} ms): "
        f"p50 [bold]{p50:.2f}[/], p99 [bold]{p99:.2f}[/]"
    )
    if report.first_third_p50 is not None:
        out.print(
            f"p50 of the first third {report.first_third_p50:.0f} ms, "
            f"of the last third {report.last_third_p50:.0f} ms"
        )


def _show_trouble(report: Report) -> None:
    if report.late_seconds > 1:
        out.print(f"[yellow]sending fell {report.late_seconds:.1f} s behind the rate[/]")
    if report.refused:
        out.print(f"[yellow]refused for now {report.refused} times, and sent again as told[/]")
    for order_id, ending in list(report.unexpected.items())[:10]:
        out.print(f"[yellow]{order_id} ended as {ending}, another ending was meant[/]")
    for order_id in report.unfinished[:10]:
        out.print(f"[bold red]{order_id} has not ended[/]")
    if report.failed:
        what = (f"{report.failed} requests failed", "bold red")
        out.print(Text.assemble(what, f", such as: {report.errors[0]}"))
