"""What the order API takes and tells."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

from services.order.changes import WAITS_FOR
from services.order.currencies import KNOWN
from services.order.domain import Order

MAX_TOTAL = 10**15  # minor units: exact also for clients whose numbers are doubles
_WORD = r"^[A-Za-z0-9_.\-]+$"
_SKU = r"^[A-Za-z0-9][A-Za-z0-9_.\-]*$"


def _known_currency(code: str) -> str:
    if code not in KNOWN:
        raise ValueError("not an ISO 4217 currency code with minor units")
    return code


class LineIn(BaseModel):
    """One article. ``unit_price`` is in minor units (cents) of the order's currency."""

    model_config = ConfigDict(extra="forbid", strict=True)

    sku: str = Field(min_length=1, max_length=64, pattern=_SKU, examples=["SKU-TEA"])
    quantity: int = Field(ge=1, le=10_000, examples=[2])
    unit_price: int = Field(ge=1, le=10**11, examples=[1250])


class OrderIn(BaseModel):
    """An order to place. Unknown fields are refused; each SKU may come once."""

    model_config = ConfigDict(extra="forbid", strict=True)

    customer_id: str = Field(min_length=1, max_length=64, pattern=_WORD, examples=["customer-1"])
    currency: Annotated[str, AfterValidator(_known_currency)] = Field(examples=["EUR"])
    payment_token: str = Field(min_length=1, max_length=128, pattern=_WORD, examples=["tok_ok"])
    pay_within: int = Field(
        default=900, ge=1, le=86_400, description="Seconds until an unpaid order is cancelled"
    )
    lines: list[LineIn] = Field(min_length=1, max_length=100)

    @field_validator("lines")
    @classmethod
    def _each_sku_once(cls, lines: list[LineIn]) -> list[LineIn]:
        if len({line.sku for line in lines}) < len(lines):
            raise ValueError("a SKU comes twice; put its quantities into one line")
        if sum(line.quantity * line.unit_price for line in lines) > MAX_TOTAL:
            raise ValueError(f"the total is over {MAX_TOTAL} minor units")
        return lines


class Waiting(BaseModel):
    """The step that a pending order waits for."""

    step: str = Field(examples=["payment"])
    events: list[str] = Field(
        description="The events that end the wait", examples=[["PaymentCaptured"]]
    )
    since: datetime


class LineOut(BaseModel):
    """One article of an order."""

    sku: str
    quantity: int
    unit_price: int


class OrderOut(BaseModel):
    """An order as the order service knows it. Amounts are minor units, times are UTC."""

    order_id: str
    customer_id: str
    currency: str
    total: int
    lines: list[LineOut]
    status: str = Field(examples=["pending", "confirmed", "cancelled", "needs_attention"])
    reason: str | None = Field(examples=[None, "out_of_stock", "payment_declined"])
    waiting_for: Waiting | None
    stock: str = Field(examples=["reserved"])
    payment: str = Field(examples=["captured"])
    pay_by: datetime
    placed_at: datetime
    updated_at: datetime
    ended_at: datetime | None
    version: int
    trace_id: str | None
    trace_url: str | None


class Accepted(BaseModel):
    """The order is stored and will come to an ending; ask ``status_url`` for it."""

    order_id: str
    status: str = "pending"
    status_url: str
    trace_id: str | None
    trace_url: str | None


def shown(order: Order, jaeger_url: str) -> dict[str, Any]:
    """An order as an `OrderOut`."""
    step = order.waiting_for
    names = OrderOut.model_fields.keys() - {"order_id", "waiting_for", "trace_url", "lines"}
    return {name: getattr(order, name) for name in names} | {
        "order_id": order.key,
        "lines": [
            {"sku": line.sku, "quantity": line.quantity, "unit_price": line.unit_price}
            for line in order.lines
        ],
        "waiting_for": (
            {"step": step, "events": WAITS_FOR[step], "since": order.waiting_since}
            if step
            else None
        ),
        "trace_url": trace_url(jaeger_url, order.trace_id),
    }


def trace_url(jaeger_url: str, trace_id: str | None) -> str | None:
    """Where the trace can be read: Jaeger's page where it has one, its API otherwise."""
    if not trace_id or not jaeger_url:
        return None
    return f"{jaeger_url}/api/traces/{trace_id}"
