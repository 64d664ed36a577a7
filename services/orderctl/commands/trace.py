"""``orderctl trace``: an order's saga as a waterfall of spans."""

import re
from dataclasses import fields
from typing import Any

from rich.table import Table
from rich.text import Text

from services.orderctl.breakdown import Times, everything, way_to_the_ending
from services.orderctl.client import Shop
from services.orderctl.console import out, print_json
from services.orderctl.errors import NOT_ANSWERING, CliError
from services.orderctl.options import AsJson, OrderId
from services.orderctl.rich_timeline import COLOURS
from services.orderctl.settings import load_settings
from services.orderctl.waterfall import Row, Span, bar, extent, spans, tree

TOOK = 7
WHERE = {
    "rules": "in rules and transactions",
    "outbox": "waiting in an outbox",
    "topic": "waiting on a topic",
    "job": "waiting for a worker",
    "outside": "outside",
}
TRACE_ID = re.compile(r"[0-9a-f]{32}")


def trace(order_id: OrderId, json: AsJson = False) -> None:
    """Draw the spans of an order's saga: who did what, for how long, because of what.

    Below it stands where the time went: in rules, waiting in an outbox, on a topic or for a worker,
    and outside. Takes an order id, or a trace id (32 hexadecimal digits).

    Example: orderctl trace 0b54b3a4-6d0e-4b0a-9f3e-1d2c3b4a5f60
    """
    shop = Shop(load_settings())
    trace_id = order_id if TRACE_ID.fullmatch(order_id) else trace_id_of(shop, order_id)
    found = read_trace(shop, trace_id)
    if found is None:
        raise CliError(
            f"Jaeger has no trace {trace_id}",
            "spans arrive a second after the fact, and a restarted Jaeger has forgotten old ones",
        )
    drawn = spans(found)
    to_the_ending, all_of_it = way_to_the_ending(drawn), everything(drawn)
    if json:
        times = {"ending": to_the_ending.as_milliseconds(), "all": all_of_it.as_milliseconds()}
        print_json(found | {"milliseconds": times})
        return
    out.print(f"trace {trace_id}", style="dim")
    out.print(waterfall_table(drawn))
    out.print()
    out.print(_times_table(to_the_ending, all_of_it))


def trace_id_of(shop: Shop, order_id: str) -> str:
    """The trace in which the order was placed; CliError when it was not traced."""
    trace_id = shop.order(order_id)["trace_id"]
    if not trace_id:
        raise CliError(f"order {order_id} was placed without a trace")
    return str(trace_id)


def read_trace(shop: Shop, trace_id: str) -> dict[str, Any] | None:
    """One trace from Jaeger, or None; CliError when Jaeger does not answer."""
    try:
        answer = shop.jaeger.find(f"/api/traces/{trace_id}")
    except CliError as error:
        raise CliError(
            f"Jaeger does not answer at {shop.jaeger.base_url}",
            "at the first start it is still being built, which takes some minutes: "
            "make status says so; everything else works meanwhile",
            code=NOT_ANSWERING,
        ) from error
    return answer["data"][0] if answer and answer["data"] else None


def waterfall_table(found: list[Span]) -> Table:
    """The tree of spans with service, duration, and a bar that shows when each ran."""
    start, total = extent(found)
    rows = tree(found)
    service = max(len(span.service) for span in found)
    longest = max(row.depth + len(row.span.name) for row in rows)
    left = out.width - service - TOOK - 3
    name = min(longest, max(34, left - 40))
    bar_width = max(12, min(60, left - name))
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column("span", no_wrap=True, overflow="ellipsis", width=name)
    table.add_column("service", no_wrap=True, width=service)
    table.add_column("took", justify="right", no_wrap=True, width=TOOK)
    table.add_column(f"0 to {milliseconds(total)}", no_wrap=True, width=bar_width)
    for row in rows:
        table.add_row(*_cells(row, start, total, bar_width))
    return table


def _times_table(ending: Times, everything: Times) -> Table:
    """Where the time went; what went on side by side counts each time in the last column."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column("where the time went")
    for name in ("to the ending", "share", "all branches"):
        table.add_column(name, justify="right")
    for field in fields(Times):
        own, all_ = getattr(ending, field.name), getattr(everything, field.name)
        share = f"{own / ending.total:.0%}" if ending.total else "-"
        table.add_row(WHERE[field.name], milliseconds(own), share, milliseconds(all_))
    return table


def _cells(row: Row, start: int, total: int, width: int) -> tuple[Text, Text, str, Text]:
    span = row.span
    style = "red" if span.failed else COLOURS.get(span.service, "white")
    return (
        Text(" " * row.depth) + Text(span.name, style="red" if span.failed else ""),
        Text(span.service, style=style),
        milliseconds(span.duration),
        Text(bar(span, start, total, width), style=style),
    )


def milliseconds(microseconds: float) -> str:
    """A duration for people: one decimal below 10 ms, none above."""
    ms = microseconds / 1000
    return f"{ms:.1f} ms" if ms < 10 else f"{ms:.0f} ms"
