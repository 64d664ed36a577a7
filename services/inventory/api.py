"""The API of inventory: receive stock, read stock, read what an order holds."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from services.eventkit.access import Tenant
from services.eventkit.http import EVERYWHERE, Problem, problem_responses
from services.eventkit.service import Runtime
from services.inventory import store
from services.inventory.domain import Line, Reservation, Stock
from services.inventory.import_api import import_routes
from services.inventory.settings import InventorySettings

SKU = r"^[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}$"
Sku = Annotated[str, Field(pattern=SKU, examples=["MUG"])]
SkuInPath = Annotated[str, Path(pattern=SKU, examples=["MUG"])]
After = Annotated[str, Query(pattern=f"{SKU}|^$", description="The last SKU of the page before.")]
OrderId = Annotated[UUID, Path(examples=["0b54b3a4-6d0e-4b0a-9f3e-1d2c3b4a5f60"])]
Pieces = Annotated[int, Field(strict=True, ge=1, le=1_000_000, examples=[100])]


class ReceiptLine(BaseModel):
    """Pieces of one SKU that have arrived."""

    model_config = ConfigDict(extra="forbid")

    sku: Sku
    quantity: Pieces


class Receipt(BaseModel):
    """A delivery: what has arrived, in pieces."""

    model_config = ConfigDict(extra="forbid")

    lines: list[ReceiptLine] = Field(min_length=1, max_length=1000)


class StockView(BaseModel):
    """The stock of one SKU in pieces: imported = available + held."""

    sku: str = Field(examples=["MUG"])
    imported: int = Field(examples=[100])
    available: int = Field(examples=[97])
    held: int = Field(examples=[3])


class StockPage(BaseModel):
    """Stock in order of SKU; ``next`` is the ``after`` of the next page, null on the last."""

    stock: list[StockView]
    next: str | None = Field(examples=["MUG"])


class HeldLine(BaseModel):
    """Pieces of one SKU that an order holds, or held until they were released."""

    sku: str
    quantity: int


class ReservationView(BaseModel):
    """What became of an order's lines; ``cancelled`` is an order cancelled before it was placed."""

    order_id: str
    status: str = Field(examples=["reserved"])
    lines: list[HeldLine]
    version: int = Field(examples=[1])


def routes(runtime: Runtime[Any, InventorySettings]) -> APIRouter:
    """The routes of a running inventory service."""
    router = APIRouter(tags=["stock"], responses=EVERYWHERE)

    @router.post("/stock/receipts", status_code=201)
    def receive(tenant: Tenant, receipt: Receipt) -> list[StockView]:
        """Add what has arrived to the stock. Sent again, it is added again."""
        lines = [Line(line.sku, line.quantity) for line in receipt.lines]
        with runtime.db.begin() as conn:
            rows = store.receive(conn, tenant, lines)
        return [_stock_view(row) for row in rows]

    @router.get("/stock")
    def read_stock_page(
        tenant: Tenant,
        after: After = "",
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    ) -> StockPage:
        """The stock of all SKUs, page by page."""
        with runtime.db.begin() as conn:
            rows = store.stock_page(conn, tenant, after, limit + 1)
        page = rows[:limit]
        last = page[-1].sku if len(rows) > limit else None
        return StockPage(stock=[_stock_view(row) for row in page], next=last)

    router.include_router(import_routes(runtime))  # before the next: no SKU hides its list

    @router.get("/stock/{sku}", responses=problem_responses(404))
    def read_stock(tenant: Tenant, sku: SkuInPath) -> StockView:
        """The stock of one SKU."""
        with runtime.db.begin() as conn:
            row = store.stock_of(conn, tenant, sku)
        if row is None:
            raise Problem(404, "unknown-sku", f"No stock of {sku} was ever received.")
        return _stock_view(row)

    @router.get("/reservations/{order_id}", responses=problem_responses(404))
    def read_reservation(tenant: Tenant, order_id: OrderId) -> ReservationView:
        """What an order holds."""
        with runtime.db.begin() as conn:
            found = store.reservation_of(conn, tenant, str(order_id))
        if found is None:
            raise Problem(404, "unknown-reservation", f"Order {order_id} is not known here.")
        return _reservation_view(found)

    return router


def _stock_view(row: Stock) -> StockView:
    return StockView(sku=row.sku, imported=row.imported, available=row.available, held=row.held)


def _reservation_view(reservation: Reservation) -> ReservationView:
    return ReservationView(
        order_id=reservation.key,
        status=reservation.status,
        lines=[HeldLine(sku=line.sku, quantity=line.quantity) for line in reservation.lines],
        version=reservation.version,
    )
