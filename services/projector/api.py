"""The read API: lists and search, one order with its timeline, and how far behind they may be."""

import asyncio
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, FastAPI, Query, Request, Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from services.eventkit.access import Access, Tenant
from services.eventkit.envelope import parse_time
from services.eventkit.http import EVERYWHERE, FieldError, Problem, create_app, problem_responses
from services.eventkit.keyfile import KeyFile
from services.eventkit.moments import Moment
from services.eventkit.positions import Unreachable
from services.projector import queries
from services.projector.lag import LagMeter
from services.projector.queries import Cursor, Filter
from services.projector.views import OrderView, TimelineEntry

LAG_HEADER = "X-Read-Model-Lag"
_WITHOUT_LAG = ("/health", "/metrics", "/docs", "/openapi.json")  # they tell nothing of orders
_LOOK_AGAIN = 0.05

After = Annotated[
    int,
    Query(ge=0, description="Wait until this version of the order, or a later one, was seen."),
]
WaitFor = Annotated[float, Query(ge=0, le=30, description="How long to wait, in seconds.")]

Status = Literal["pending", "confirmed", "cancelled", "needs_attention"]


class OrderOut(BaseModel):
    """An order as the read model knows it. What no event has told yet is null."""

    order_id: UUID
    customer_id: str | None
    currency: str | None
    total: int | None = Field(description="In minor units of the currency.")
    lines: list[dict[str, Any]] | None
    status: Status | None = Field(description="Null while only other services' events are known.")
    reason: str | None
    reservation_status: str | None
    short: list[dict[str, Any]] | None = Field(description="The articles that were short.")
    payment_id: str | None
    payment_status: str | None
    payment_reason: str | None
    captured: int | None
    refunded: int | None
    message_kind: str | None
    message_status: str | None
    message_reason: str | None
    began_at: datetime = Field(description="Time of the earliest event known.")
    placed_at: datetime | None
    pay_by: datetime | None
    ended_at: datetime | None
    updated_at: datetime
    order_sequence: int = Field(description="Newest version seen of the order; 0 for none.")
    reservation_sequence: int
    payment_sequence: int
    message_sequence: int


class EntryOut(BaseModel):
    """One event of an order, and where it stands on its topic."""

    event_type: str
    source: str
    sequence: int
    time: datetime
    message_id: UUID
    causation_id: str | None
    correlation_id: str
    actor_id: str
    topic: str
    partition: int
    offset: int
    data: dict[str, Any]


class OrderWithTimeline(OrderOut):
    """An order and every event of it, in the order they happened."""

    timeline: list[EntryOut]


class History(BaseModel):
    """Every event of an order, in the order they happened, with its place on its topic."""

    order_id: UUID
    events: list[EntryOut]


class OrderPage(BaseModel):
    """One page of orders, newest first. ``next`` is the ``before`` of the next page, if any."""

    orders: list[OrderOut]
    next: str | None


class PartitionLagOut(BaseModel):
    """One partition's lag in events."""

    topic: str
    partition: int
    end_offset: int
    next_offset: int
    events: int


class LagOut(BaseModel):
    """How far behind the read model is.

    ``seconds`` is the age of the oldest event it lacks; null where it could not be told in time.
    """

    measured_at: datetime
    events: int
    seconds: float | None
    partitions: list[PartitionLagOut]


def create_read_api(
    engine: sa.Engine, meter: LagMeter, access: Access | None = None, max_body: int = 65_536
) -> FastAPI:
    """The application of the projector's API process."""

    def database() -> str | None:
        try:
            with engine.connect() as conn:
                conn.execute(sa.text("SELECT 1"))
        except sa.exc.SQLAlchemyError as error:
            return str(error).splitlines()[0]
        return None

    app = create_app(
        "projector read API",
        [_routes(engine, meter)],
        {"database": database},
        access=access or Access(KeyFile(None), "demo"),
        max_body=max_body,
    )

    @app.middleware("http")
    async def tell_lag(
        request: Request, call_next: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        response = await call_next(request)
        if not request.url.path.startswith(_WITHOUT_LAG):
            response.headers[LAG_HEADER] = _lag_text(meter)
        return response

    return app


def _routes(engine: sa.Engine, meter: LagMeter) -> APIRouter:
    router = APIRouter(tags=["read model"], responses=EVERYWHERE)

    @router.get("/orders")
    def list_orders(
        tenant: Tenant,
        status: Status | None = None,
        customer_id: str | None = None,
        reason: str | None = None,
        payment_status: str | None = None,
        currency: str | None = None,
        since: Annotated[Moment | None, Query(description="Began then or later.")] = None,
        until: Annotated[Moment | None, Query(description="Began before that.")] = None,
        q: Annotated[
            str | None,
            Query(
                min_length=1,
                max_length=200,
                pattern=r"^[^\x00]*\S[^\x00]*$",
                description="Words, all of which the order has: ids, articles, customer, reasons. "
                "The beginning of a word is enough.",
            ),
        ] = None,
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
        before: Annotated[str | None, Query(description="`next` of the page before.")] = None,
    ) -> OrderPage:
        """The newest orders, newest first."""
        wanted = Filter(status, customer_id, reason, payment_status, currency, since, until, q)
        cursor = _cursor(before) if before else None
        with engine.connect() as conn:
            views = queries.list_orders(conn, tenant, wanted, before=cursor, limit=limit + 1)
        more = len(views) > limit
        page = views[:limit]
        following = _cursor_text(Cursor(page[-1].began_at, page[-1].order_id)) if more else None
        return OrderPage(orders=[OrderOut(**view._asdict()) for view in page], next=following)

    @router.get("/orders/{order_id}", responses=problem_responses(404))
    async def get_order(
        tenant: Tenant, order_id: UUID, after: After = 0, wait: WaitFor = 10
    ) -> OrderWithTimeline:
        """One order with its timeline: every event of it, with topic, partition and offset.

        Who has just written can read it here: `after` is the `version` that the order service
        gave. 503 where the read model has not seen it in time.
        """
        await _seen(engine, tenant, order_id, after, wait)
        view, timeline = await run_in_threadpool(_found, engine, tenant, order_id)
        return OrderWithTimeline(
            **view._asdict(), timeline=[EntryOut(**e._asdict()) for e in timeline]
        )

    @router.get("/orders/{order_id}/events", responses=problem_responses(404))
    async def get_history(
        tenant: Tenant, order_id: UUID, after: After = 0, wait: WaitFor = 10
    ) -> History:
        """The history of one order: its events, with topic, partition and offset."""
        await _seen(engine, tenant, order_id, after, wait)
        _, timeline = await run_in_threadpool(_found, engine, tenant, order_id)
        return History(order_id=order_id, events=[EntryOut(**e._asdict()) for e in timeline])

    @router.get("/lag")
    def get_lag() -> LagOut:
        """How far the read model is behind the topics, as measured last.

        That was at most a second ago, or some more while the broker does not answer; once it is
        known not to, 503.
        """
        try:
            lag = meter.latest()
        except Unreachable as error:
            raise Problem(503, "lag-unknown", str(error), headers={"Retry-After": "1"}) from error
        partitions = [
            PartitionLagOut(**asdict(partition), events=partition.events)
            for partition in lag.partitions
        ]
        return LagOut(
            measured_at=lag.measured_at,
            events=lag.events,
            seconds=lag.seconds,
            partitions=partitions,
        )

    return router


async def _seen(engine: sa.Engine, tenant: str, order_id: UUID, after: int, wait: float) -> None:
    """Waits until the read model has seen the version; raises `Problem` where it has not."""
    until = time.monotonic() + wait
    while after and (await run_in_threadpool(_sequence, engine, tenant, order_id)) < after:
        if time.monotonic() > until:
            detail = f"The read model has not seen version {after} of order {order_id} yet."
            raise Problem(503, "not-seen-yet", detail, headers={"Retry-After": "1"})
        await asyncio.sleep(_LOOK_AGAIN)


def _sequence(engine: sa.Engine, tenant: str, order_id: UUID) -> int:
    with engine.connect() as conn:
        return queries.order_sequence(conn, tenant, order_id) or 0


def _found(engine: sa.Engine, tenant: str, order_id: UUID) -> tuple[OrderView, list[TimelineEntry]]:
    # The view first, as in a swap: two who lock in different orders block each other.
    with engine.connect() as conn:
        view = queries.get_order(conn, tenant, order_id)
        timeline = queries.get_timeline(conn, tenant, order_id)
    if view is None:
        raise Problem(404, "not-found", f"The read model has no order {order_id} (yet).")
    return view, timeline


def _lag_text(meter: LagMeter) -> str:
    try:
        lag = meter.latest(wait=0)  # an answer that is ready waits for nothing
    except Unreachable:
        return "events=unknown; seconds=unknown"
    return f"events={lag.events}; seconds={'unknown' if lag.seconds is None else lag.seconds}"


def _cursor_text(cursor: Cursor) -> str:
    text = f"{cursor.began_at.isoformat()} {cursor.order_id}"
    return urlsafe_b64encode(text.encode()).decode()


def _cursor(text: str) -> Cursor:
    try:
        began_at, order_id = urlsafe_b64decode(text.encode()).decode().split(" ")
        return Cursor(parse_time(began_at), UUID(order_id))
    except ValueError as error:
        wrong = FieldError(field="before", message="Not the `next` of a page")
        raise Problem(422, "invalid-request", "The cursor is not valid.", [wrong]) from error
