"""The order API: place, read, follow and cancel orders."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Annotated, Any
from uuid import UUID, uuid4

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from services.eventkit.access import CancellingTenant, OrderingTenant, Tenant
from services.eventkit.http import EVERYWHERE, Problem, problem_responses
from services.eventkit.service import Runtime, api_event
from services.order import domain
from services.order.admission import Admission
from services.order.domain import Order
from services.order.feed import Feed
from services.order.models import Accepted, IdempotencyKey, OrderIn, OrderOut, shown
from services.order.placing import Placing
from services.order.reading import Reading, found
from services.order.settings import OrderSettings
from services.order.store import OrderStore
from services.order.streams import EventStream, Streams
from services.order.webhook_api import webhook_routes

Wait = Annotated[
    int,
    Query(
        ge=0,
        le=60,
        description="Seconds to wait for the ending, or for a change from `If-None-Match`",
        examples=[30],
    ),
]
IfNoneMatch = Annotated[
    str | None, Header(alias="If-None-Match", description="The `ETag` of an earlier answer")
]
LastEventId = Annotated[
    str | None,
    Header(
        alias="Last-Event-ID",
        max_length=64,
        description="The last event's id: what came after it is sent",
    ),
]

_PLACED = {
    "headers": {
        "Location": {"schema": {"type": "string"}, "description": "Where the order can be read"},
        "Idempotent-Replayed": {
            "schema": {"type": "string"},
            "description": "`true` where an earlier request with the key got this answer",
        },
    }
}
_TAGGED = {
    "headers": {
        "ETag": {"schema": {"type": "string"}, "description": "Differs when the order does"}
    }
}
_TOLD = {"description": "The order has ended, and this was the last of it: do not come back"}
_UNCHANGED = {**_TAGGED, "description": "The order is as `If-None-Match` says"}


def routes(runtime: Runtime[Order, OrderSettings]) -> APIRouter:
    """The routes of the order service."""
    settings, store = runtime.settings, OrderStore()
    feed = Feed(runtime.db, runtime.is_stopping, settings.stream_limit)
    admission = Admission(settings)
    placing, reading = Placing(runtime, admission), Reading(runtime, feed)
    streams = Streams(runtime.db, feed, settings.heartbeat)
    router = APIRouter(tags=["orders"], responses=EVERYWHERE, lifespan=_all(feed, admission))

    @router.post(
        "/orders",
        status_code=202,
        response_model=Accepted,
        responses={202: _PLACED, **problem_responses(409)},
    )
    def place(
        tenant: OrderingTenant,
        order: OrderIn,
        response: Response,
        idempotency_key: IdempotencyKey = None,
    ) -> Any:
        """Accepts an order. It is stored before this answers, and will come to an ending."""
        answer = placing.place(order, tenant, idempotency_key)
        response.status_code = answer.status
        response.headers["Location"] = str(answer.body["status_url"])
        if answer.replayed:
            response.headers["Idempotent-Replayed"] = "true"
        return answer.body

    # Before the route with an order id, which "events" is not.
    @router.get("/orders/events", response_class=EventStream, responses=problem_responses(429, 503))
    async def follow_all(tenant: Tenant, last_event_id: LastEventId = None) -> Response:
        """Every state that orders take from now on, as server-sent events; it has no end."""
        feed.check_room(tenant)
        return streams.of_tenant(tenant, last_event_id)

    @router.get(
        "/orders/{order_id}",
        response_model=OrderOut,
        responses={200: _TAGGED, 304: _UNCHANGED, **problem_responses(404)},
    )
    async def read(
        request: Request,
        tenant: Tenant,
        order_id: UUID,
        wait: Wait = 0,
        if_none_match: IfNoneMatch = None,
    ) -> Any:
        """The order as the order service knows it: what you wrote, you read."""
        if wait:
            order = await reading.wait(request, tenant, str(order_id), if_none_match, wait)
        else:
            order = await reading.read(tenant, str(order_id))
        headers = {"ETag": order.tag, "Cache-Control": "private, no-cache"}
        if order.matches(if_none_match):
            return Response(status_code=304, headers=headers)
        return JSONResponse(order.body, headers=headers)

    @router.get(
        "/orders/{order_id}/events",
        response_class=EventStream,
        responses={204: _TOLD, **problem_responses(404)},
    )
    async def follow(tenant: Tenant, order_id: UUID, last_event_id: LastEventId = None) -> Response:
        """The order's states, as server-sent events, until it ends."""
        order = await run_in_threadpool(reading.find, tenant, str(order_id))
        if await run_in_threadpool(streams.missed_nothing, order, last_event_id):
            return Response(status_code=204)
        feed.check_room(tenant)
        return streams.of_order(order, last_event_id)

    @router.delete(
        "/orders/{order_id}",
        status_code=202,
        response_model=OrderOut,
        responses=problem_responses(404, 409),
    )
    def cancel(tenant: CancellingTenant, order_id: UUID) -> Any:
        """Asks for cancellation: refused once the order has ended otherwise; a repeat is fine."""
        with runtime.db.begin() as conn:
            order = found(store.find(conn, tenant, str(order_id)))
            command = api_event("CancelOrder", order.key, {}, tenant, order.customer_id, uuid4())
            decision = runtime.command(conn, command)
            order = found(store.find(conn, tenant, order.key))
        runtime.committed(decision)
        if order.reason != domain.CUSTOMER_REQUEST:
            because = f" ({order.reason})" if order.reason else ""
            raise Problem(
                409,
                "order-ended",
                f"The order is already {order.status}{because}.",
                reason=order.reason or order.status,
            )
        return shown(order, settings.jaeger_url)

    router.include_router(webhook_routes(runtime))
    return router


def _all(*parts: Feed | Admission) -> Callable[[Any], AbstractAsyncContextManager[None]]:
    """One lifespan of several parts."""

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for part in parts:
                await stack.enter_async_context(part.lifespan(app))
            yield

    return lifespan
