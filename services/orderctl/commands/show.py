"""``orderctl show``: one order with its timeline."""

from typing import Any

from rich.table import Table

from services.orderctl.client import Shop
from services.orderctl.console import cells, note, out, print_json
from services.orderctl.options import AsJson, OrderId
from services.orderctl.rich_timeline import timeline_table
from services.orderctl.settings import load_settings
from services.orderctl.timeline import entry
from services.orderctl.waiting import ending_of


def show(order_id: OrderId, json: AsJson = False) -> None:
    """Show an order as its own service has it, and its timeline from the read model.

    Example: orderctl show 0b54b3a4-6d0e-4b0a-9f3e-1d2c3b4a5f60
    """
    shop = Shop(load_settings())
    order = shop.order(order_id)
    view = shop.view(order_id)
    if json:
        print_json({"order": order, "read_model": view})
        return
    out.print(_facts(order))
    if view is None:
        note("the read model has not heard of it yet; orderctl lag shows how far it is")
        return
    out.print()
    out.print(timeline_table([entry(item) for item in view["timeline"]]))


def _facts(order: dict[str, Any]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    waiting = order.get("waiting_for")
    pending = f"pending, waiting for {waiting['step']} since {waiting['since']}" if waiting else ""
    lines = ", ".join(
        f"{line['quantity']} x {line['sku']} at {line['unit_price']}" for line in order["lines"]
    )
    for name, value in {
        "order": order["order_id"],
        "status": ending_of(order) or pending or order["status"],
        "customer": order["customer_id"],
        "total": f"{order['total']} {order['currency']}",
        "lines": lines,
        "placed": order["placed_at"],
        "pay by": order["pay_by"],
        "trace": order.get("trace_url") or order.get("trace_id") or "none",
    }.items():
        table.add_row(name, *cells(value))
    return table
