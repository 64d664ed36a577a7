"""``orderctl capacity``: how long every queue takes to drain, from live metrics."""

import time
from typing import Annotated

import sqlalchemy as sa
import typer
from rich.table import Table

from services.eventkit.worker import Worker
from services.orderctl.capacity import Queue, consumers, jobs, unknown
from services.orderctl.console import err, note, out, print_json
from services.orderctl.options import AsJson
from services.orderctl.scrape import processes, scrape
from services.orderctl.settings import Settings, load_settings
from services.orderctl.verify.databases import EMITTERS, reading

_DUE = sa.text("""
SELECT kind, count(*) FILTER (WHERE run_at <= now()) AS due
FROM jobs WHERE status = 'pending' GROUP BY kind""")


def capacity(
    seconds: Annotated[
        float, typer.Option(help="How long to watch the arrivals.", min=6, max=600)
    ] = 12,
    json: AsJson = False,
) -> None:
    """Compute for every queue when it is empty: depth x time for one task / workers.

    What arrives meanwhile is watched and taken off; where more arrives than is done, it says that
    the queue never drains, and how many workers it takes. Exit code 1 then, and where it could not
    look.

    Examples:

      orderctl capacity

      orderctl capacity --seconds 60 --json
    """
    settings = load_settings()
    asked = processes(settings)
    before, began = scrape(asked), time.monotonic()
    with err.status(f"watching for {seconds:.0f} s"):
        time.sleep(seconds)
    after, watched = scrape(asked), time.monotonic() - began
    queues = [
        *consumers(before, after, watched),
        *jobs(before, after, _due(settings), watched, Worker.slots),
    ]
    if json:
        print_json([queue.as_json() for queue in queues])
    else:
        out.print(_table(queues))
    gaps = unknown(asked, before, after)
    for gap in gaps:
        note(gap)
    if gaps or not all(queue.well for queue in queues):
        raise typer.Exit(1)


def _due(settings: Settings) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for service in EMITTERS:
        with reading(settings, service) as conn:
            found |= {(service, row.kind): row.due for row in conn.execute(_DUE)}
    return found


def _table(queues: list[Queue]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("queue")
    for name in ("depth", "one task", "workers", "can do", "arrive", "in use"):
        table.add_column(name, justify="right")
    table.add_column("drains")
    for queue in queues:
        style = "green" if queue.well else "red"
        table.add_row(
            f"{queue.kind} {queue.name}",
            f"{queue.depth:.0f}",
            "?" if queue.seconds is None else f"{queue.seconds * 1000:.1f} ms",
            str(queue.workers),
            "?" if queue.rate is None else f"{queue.rate:.0f}/s",
            f"{queue.arrivals:.1f}/s",
            "?" if queue.use is None else f"{queue.use:.0%}",
            f"[{style}]{queue.verdict}[/]",
        )
    return table
