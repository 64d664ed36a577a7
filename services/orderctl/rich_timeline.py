"""The timeline for a person at a terminal: the causation tree with times and colours."""

from collections.abc import Sequence
from datetime import datetime

from rich.table import Table
from rich.text import Text

from services.orderctl.console import cells
from services.orderctl.timeline import Entry, branches, summary

COLOURS = {
    "order": "cyan",
    "inventory": "yellow",
    "payment": "green",
    "email": "magenta",
    "analytics": "blue",
}
BAD = ("Rejected", "Declined", "Cancelled", "Failed", "NeedsAttention")


def offset(moment: datetime, start: datetime) -> str:
    """How long after the start, in milliseconds or seconds."""
    ms = (moment - start).total_seconds() * 1000
    return f"+{ms:.0f} ms" if ms < 10_000 else f"+{ms / 1000:.1f} s"


def event_text(event_type: str) -> Text:
    """An event's name, red when it undoes or fails something."""
    return Text(event_type, style="red" if event_type.endswith(BAD) else "bold")


def timeline_table(entries: Sequence[Entry], title: str = "") -> Table:
    """A borderless table: after how long, what (as a tree), in which service, with what."""
    table = Table(box=None, title=title, title_justify="left", pad_edge=False, show_header=False)
    table.add_column(justify="right", style="dim", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    start = min((one.time for one in entries), default=None)
    for branch in branches(entries):
        one = branch.entry
        assert start is not None
        table.add_row(
            offset(one.time, start),
            Text(branch.lines, style="dim") + event_text(one.event_type),
            Text(one.service, style=COLOURS.get(one.service, "")),
            *cells(summary(one)),
        )
    return table
