"""``orderctl watch``: an order's timeline as it grows."""

import time
from typing import Annotated

import typer
from rich.text import Text

from services.orderctl.client import Shop
from services.orderctl.console import note, out
from services.orderctl.errors import CliError
from services.orderctl.options import OrderId
from services.orderctl.rich_timeline import COLOURS, event_text, offset
from services.orderctl.settings import load_settings
from services.orderctl.timeline import Entry, entry, summary
from services.orderctl.waiting import ending_of

POLL = 0.15


def watch(
    order_id: OrderId,
    timeout: Annotated[float, typer.Option(help="Seconds to wait at most.")] = 900.0,
) -> None:
    """Print every event of an order as the read model gets it, until the order ends.

    Example: orderctl watch 0b54b3a4-6d0e-4b0a-9f3e-1d2c3b4a5f60
    """
    shop = Shop(load_settings())
    shop.order(order_id)
    shown: set[str] = set()
    start = None
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        view = shop.view(order_id)
        for one in _entries(view):
            if one.message_id not in shown:
                start = start or one.time
                shown.add(one.message_id)
                _print(one, offset(one.time, start))
        if view is not None and (ending := ending_of(view)):
            note(f"ended: {ending}")
            return
        time.sleep(POLL)
    raise CliError(
        f"order {order_id} did not end within {timeout:.0f} s", f"orderctl show {order_id}"
    )


def _entries(view: dict[str, list[dict[str, object]]] | None) -> list[Entry]:
    entries = [entry(item) for item in view["timeline"]] if view else []
    return sorted(entries, key=lambda one: one.time)


def _print(one: Entry, after: str) -> None:
    text = event_text(one.event_type)
    text.pad_right(max(0, 20 - len(text)))
    service = (f"{one.service:<9}", COLOURS.get(one.service, "white"))
    out.print(Text.assemble((f"{after:>10} ", "dim"), text, " ", service, f"  {summary(one)}"))
