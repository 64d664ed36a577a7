"""Goods: every piece that came in is available or held by an order that is open or confirmed."""

from collections import defaultdict
from collections.abc import Iterator

from services.orderctl.verify.data import Goods, Snapshot
from services.orderctl.verify.finding import Finding, finding

HOLDING = {"pending", "confirmed"}


def stock_adds_up(snapshot: Snapshot) -> Finding:
    """Per tenant and SKU: imported = available + held by open orders + held by confirmed orders."""
    held: dict[Goods, int] = defaultdict(int)
    for order_id, reservation in snapshot.reservations.items():
        order = snapshot.orders.get(order_id)
        if reservation.status == "reserved" and order and order.status in HOLDING:
            for goods, quantity in reservation.lines.items():
                held[goods] += quantity

    def problems() -> Iterator[str]:
        for goods, stock in snapshot.stock.items():
            if stock.imported != stock.available + held[goods]:
                yield (
                    f"{_name(goods)}: {stock.imported} imported, but {stock.available} available"
                    f" + {held[goods]} held by orders"
                )
            if stock.held != held[goods]:
                yield (
                    f"{_name(goods)}: its row says {stock.held} held, the orders hold {held[goods]}"
                )
        for goods in held.keys() - snapshot.stock.keys():
            yield f"{_name(goods)}: {held[goods]} held by orders, but there is no such stock"

    return finding(len(snapshot.stock), problems())


def _name(goods: Goods) -> str:
    tenant, sku = goods
    return f"{sku} of {tenant}"
