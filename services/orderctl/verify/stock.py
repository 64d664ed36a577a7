"""Goods: every piece that came in is available or held by an order that is open or confirmed."""

from collections import defaultdict
from collections.abc import Iterator

from services.orderctl.verify.data import Snapshot
from services.orderctl.verify.finding import Finding, finding

HOLDING = {"pending", "confirmed"}


def stock_adds_up(snapshot: Snapshot) -> Finding:
    """Per SKU: imported = available + held by open orders + held by confirmed orders."""
    held: dict[str, int] = defaultdict(int)
    for order_id, reservation in snapshot.reservations.items():
        order = snapshot.orders.get(order_id)
        if reservation.status == "reserved" and order and order.status in HOLDING:
            for sku, quantity in reservation.lines.items():
                held[sku] += quantity

    def problems() -> Iterator[str]:
        for sku, stock in snapshot.stock.items():
            if stock.imported != stock.available + held[sku]:
                yield (
                    f"{sku}: {stock.imported} imported, but {stock.available} available"
                    f" + {held[sku]} held by orders"
                )
            if stock.held != held[sku]:
                yield f"{sku}: its row says {stock.held} held, the orders hold {held[sku]}"
        for sku in held.keys() - snapshot.stock.keys():
            yield f"{sku}: {held[sku]} held by orders, but there is no such stock"

    return finding(len(snapshot.stock), problems())
