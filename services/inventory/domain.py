"""Hold an order's lines, all or none, and give them back: the rules of stock and reservations.

A reservation is the one aggregate of an order here; stock rows are related to it and shared with
other orders, so a decision returns the stock rows it changed.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from services.eventkit.decision import APPLIED, Decision, Emit, ignored

MAX_LINE_QUANTITY = 10_000
MAX_LINES = 100

RESERVED = "reserved"
REJECTED = "rejected"
RELEASED = "released"
CANCELLED = "cancelled"
"""Cancelled before it was ever placed: the row remembers it, so that nothing is held later."""

TRANSITIONS: Mapping[tuple[str | None, str], str] = {
    (None, "OrderPlaced:available"): RESERVED,
    (None, "OrderPlaced:short"): REJECTED,
    (None, "OrderCancelled"): CANCELLED,
    (RESERVED, "OrderCancelled"): RELEASED,
}
"""(status, input) -> status; None is an order never seen. After a colon: the case of an input."""

IGNORED: Mapping[str | None, str] = {
    RESERVED: "already_reserved",
    REJECTED: "already_rejected",
    RELEASED: "already_released",
    CANCELLED: "order_cancelled",
}
"""Why a reservation in this status lets an input pass that has no transition."""


@dataclass(frozen=True, slots=True)
class Line:
    """A quantity, in pieces, of one SKU."""

    sku: str
    quantity: int

    def __post_init__(self) -> None:
        if not self.sku:
            raise ValueError("a line needs a sku")
        if self.quantity < 1:
            raise ValueError(f"quantity of {self.sku} is {self.quantity}: it must be at least 1")


@dataclass(frozen=True, slots=True)
class Stock:
    """The stock of one SKU in pieces; imported = available + held, always."""

    tenant_id: str
    sku: str
    imported: int
    available: int
    held: int

    def hold(self, quantity: int) -> "Stock":
        """Move pieces from available to held."""
        return replace(self, available=self.available - quantity, held=self.held + quantity)

    def give_back(self, quantity: int) -> "Stock":
        """Move pieces from held to available: the undo of ``hold``."""
        return replace(self, available=self.available + quantity, held=self.held - quantity)


@dataclass(frozen=True, slots=True)
class Reservation:
    """What an order holds, or once held; ``lines`` has one line per SKU, sorted."""

    key: str
    tenant_id: str
    status: str
    lines: tuple[Line, ...] = ()
    version: int = 0


@dataclass(frozen=True, slots=True)
class Placement:
    """What an order asks for: its lines, and what payment has to know once they are held."""

    key: str
    tenant_id: str
    lines: tuple[Line, ...]
    amount: int
    currency: str
    payment_token: str


def stock_key(tenant_id: str, sku: str) -> str:
    """The key of a stock row among the related rows: stock is per tenant."""
    return f"{tenant_id}/{sku}"


def merged(lines: Iterable[Line]) -> tuple[Line, ...]:
    """One line per SKU with the sum of its quantities, sorted by SKU."""
    quantities: dict[str, int] = {}
    for line in lines:
        quantities[line.sku] = quantities.get(line.sku, 0) + line.quantity
    return tuple(Line(sku, quantities[sku]) for sku in sorted(quantities))


def reserve(
    state: Reservation | None, order: Placement, stock: Mapping[str, Stock]
) -> Decision[Reservation]:
    """Hold every line of an order, or none and name each SKU that is short.

    ``stock`` has the order's stock rows by ``stock_key``; a SKU without a row has none available.
    Raises ValueError for an order that no API would have accepted.
    """
    lines = checked(order.lines)
    short = shortages(order.tenant_id, lines, stock)
    status = _next(state, "OrderPlaced:short" if short else "OrderPlaced:available")
    if status is None:
        return _ignored(state)
    if short:
        rejected = Reservation(order.key, order.tenant_id, status)
        return Decision(APPLIED, rejected, (Emit("StockRejected", {"short": short}),))
    asked = {
        "amount": order.amount,
        "currency": order.currency,
        "payment_token": order.payment_token,
    }
    return Decision(
        APPLIED,
        Reservation(order.key, order.tenant_id, status, lines),
        (Emit("StockReserved", asked),),
        related=_moved(order.tenant_id, lines, stock, Stock.hold),
    )


def release(
    state: Reservation | None, key: str, tenant_id: str, stock: Mapping[str, Stock]
) -> Decision[Reservation]:
    """Give a cancelled order's lines back: the undo of ``reserve``.

    A cancel that comes first leaves a tombstone, so that the late placement holds nothing.
    """
    status = _next(state, "OrderCancelled")
    if status is None:
        return _ignored(state)
    if state is None:
        return Decision(APPLIED, Reservation(key, tenant_id, status))
    return Decision(
        APPLIED,
        replace(state, status=status),
        (Emit("StockReleased", {"lines": [_fields(line) for line in state.lines]}),),
        related=_moved(state.tenant_id, state.lines, stock, Stock.give_back),
    )


def checked(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """The lines merged by SKU; ValueError when there are none, too many or too large ones."""
    if not 1 <= len(lines) <= MAX_LINES:
        raise ValueError(f"an order has 1 to {MAX_LINES} lines, not {len(lines)}")
    for line in lines:
        if line.quantity > MAX_LINE_QUANTITY:
            raise ValueError(f"quantity of {line.sku} is {line.quantity}: over {MAX_LINE_QUANTITY}")
    return merged(lines)


def shortages(
    tenant_id: str, lines: Iterable[Line], stock: Mapping[str, Stock]
) -> list[dict[str, Any]]:
    """Every SKU of which more is wanted than available, with both numbers."""
    short = []
    for line in lines:
        row = stock.get(stock_key(tenant_id, line.sku))
        available = row.available if row else 0
        if line.quantity > available:
            short.append({"sku": line.sku, "wanted": line.quantity, "available": available})
    return short


def _next(state: Reservation | None, step: str) -> str | None:
    return TRANSITIONS.get((state.status if state else None, step))


def _ignored(state: Reservation | None) -> Decision[Reservation]:
    return Decision(ignored(IGNORED[state.status if state else None]))


def _moved(
    tenant_id: str,
    lines: Iterable[Line],
    stock: Mapping[str, Stock],
    move: Callable[[Stock, int], Stock],
) -> dict[str, Stock]:
    keyed = ((stock_key(tenant_id, line.sku), line.quantity) for line in lines)
    return {key: move(stock[key], quantity) for key, quantity in keyed}


def _fields(line: Line) -> dict[str, Any]:
    return {"sku": line.sku, "quantity": line.quantity}
