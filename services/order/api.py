"""The order API: place, read and cancel orders."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID, uuid4

from fastapi import APIRouter, Header, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

from services.eventkit.http import Problem, current_trace_id, problem_responses
from services.eventkit.service import Runtime, api_event
from services.order import domain
from services.order.currencies import KNOWN
from services.order.domain import Order
from services.order.idempotency import Answer, Name, Twins, first_answer
from services.order.settings import OrderSettings
from services.order.store import OrderStore

MAX_TOTAL = 10**15  # minor units: exact also for clients whose numbers are doubles
_WORD = r"^[A-Za-z0-9_.\-]+$"
_SKU = r"^[A-Za-z0-9][A-Za-z0-9_.\-]*$"
_PRINTABLE = r"^[\x20-\x7e]+$"


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


IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        pattern=_PRINTABLE,
        description="A key of your choice: a repeat with the same content gets the first answer",
        examples=["4fc2a7f0-order"],
    ),
]


def routes(runtime: Runtime[Order, OrderSettings]) -> APIRouter:
    """The routes of the order service."""
    router = APIRouter(tags=["orders"])
    settings = runtime.settings
    store, twins = OrderStore(), Twins()
    tenant = settings.tenant_id

    @router.post(
        "/orders", status_code=202, response_model=Accepted, responses=problem_responses(409, 422)
    )
    def place(order: OrderIn, response: Response, idempotency_key: IdempotencyKey = None) -> Any:
        """Accepts an order. It is stored before this answers, and will come to an ending."""
        order_id, trace_id = str(uuid4()), current_trace_id()
        new = Answer(
            202,
            {
                "order_id": order_id,
                "status": domain.PENDING,
                "status_url": f"/orders/{order_id}",
                "trace_id": trace_id,
                "trace_url": _trace_url(settings, trace_id),
            },
        )
        content = order.model_dump()

        def once(name: Name | None, patience: float) -> Answer:
            with runtime.db.begin() as conn:
                if name and (first := first_answer(conn, name, content, new, patience)):
                    return first
                data = content | {
                    "pay_by": datetime.now(UTC) + timedelta(seconds=order.pay_within),
                    "trace_id": trace_id,
                }
                command = api_event(
                    "PlaceOrder", order_id, data, tenant, order.customer_id, uuid4()
                )
                decision = runtime.command(conn, command)
            runtime.committed(decision)
            return new

        if idempotency_key is None:
            answer = once(None, 0)
        else:
            name = Name(tenant, "POST /orders", idempotency_key)
            with twins.one_by_one(name) as patience:
                answer = once(name, patience)
        response.status_code = answer.status
        response.headers["Location"] = str(answer.body["status_url"])
        if answer.replayed:
            response.headers["Idempotent-Replayed"] = "true"
        return answer.body

    @router.get(
        "/orders/{order_id}", response_model=OrderOut, responses=problem_responses(404, 422)
    )
    def read(order_id: UUID) -> Any:
        """The order as the order service knows it: what you wrote, you read."""
        with runtime.db.connect() as conn:
            return _shown(_found(store.find(conn, tenant, str(order_id))), settings)

    @router.delete(
        "/orders/{order_id}",
        status_code=202,
        response_model=OrderOut,
        responses=problem_responses(404, 409, 422),
    )
    def cancel(order_id: UUID) -> Any:
        """Asks for cancellation: refused once the order has ended otherwise; a repeat is fine."""
        with runtime.db.begin() as conn:
            order = _found(store.find(conn, tenant, str(order_id)))
            command = api_event("CancelOrder", order.key, {}, tenant, order.customer_id, uuid4())
            decision = runtime.command(conn, command)
            order = _found(store.find(conn, tenant, order.key))
        runtime.committed(decision)
        if order.reason != domain.CUSTOMER_REQUEST:
            because = f" ({order.reason})" if order.reason else ""
            raise Problem(409, "order-ended", f"The order is already {order.status}{because}.")
        return _shown(order, settings)

    return router


def _found(order: Order | None) -> Order:
    if order is None:
        raise Problem(404, "not-found", "There is no such order.")
    return order


def _shown(order: Order, settings: OrderSettings) -> dict[str, Any]:
    step = order.waiting_for
    names = OrderOut.model_fields.keys() - {"order_id", "waiting_for", "trace_url", "lines"}
    return {name: getattr(order, name) for name in names} | {
        "order_id": order.key,
        "lines": [
            {"sku": line.sku, "quantity": line.quantity, "unit_price": line.unit_price}
            for line in order.lines
        ],
        "waiting_for": {"step": step, "since": order.waiting_since} if step else None,
        "trace_url": _trace_url(settings, order.trace_id),
    }


def _trace_url(settings: OrderSettings, trace_id: str | None) -> str | None:
    """Where the trace can be read: Jaeger's page where it has one, its API otherwise."""
    if not trace_id or not settings.jaeger_url:
        return None
    return f"{settings.jaeger_url}/api/traces/{trace_id}"
