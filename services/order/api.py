"""The order API: place, read, follow and cancel orders."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any
from uuid import UUID, uuid4

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from services.eventkit.access import CancellingTenant, OrderingTenant, Tenant
from services.eventkit.feed import Feed
from services.eventkit.http import EVERYWHERE, Problem, problem_responses
from services.eventkit.idempotency import IdempotencyKey, accepted
from services.eventkit.reading import TAGGED, UNCHANGED, IfNoneMatch, Reading, Shown, Wait
from services.eventkit.reading import shown as tagged
from services.eventkit.service import Runtime, api_event
from services.eventkit.streams import TOLD, EventStream, LastEventId, Streams
from services.order import changes, domain
from services.order.admission import Admission
from services.order.domain import Order
from services.order.front import front_routes
from services.order.models import Accepted, OrderIn, OrderOut, shown
from services.order.placing import Placing
from services.order.settings import OrderSettings
from services.order.store import OrderStore
from services.order.webhook_api import webhook_routes


def routes(runtime: Runtime[Order, OrderSettings]) -> APIRouter:
    """The routes of the order service."""
    settings, store = runtime.settings, OrderStore()
    feed = Feed(runtime.db, changes.LOG, runtime.is_stopping, settings.stream_limit)
    admission = Admission(settings)
    placing = Placing(runtime, admission)
    streams = Streams(runtime.db, feed, settings.heartbeat)
    router = APIRouter(tags=["orders"], responses=EVERYWHERE, lifespan=_all(feed, admission))

    def find(tenant: str, order_id: str) -> Order:
        with runtime.db.connect() as conn:
            return _found(store.find(conn, tenant, order_id))

    def look(tenant: str, order_id: str) -> Shown:
        order = find(tenant, order_id)
        told = OrderOut(**shown(order, settings.jaeger_url))
        return tagged(told, ended=order.ended_at is not None)

    reading = Reading(feed, look)

    @router.post(
        "/orders",
        status_code=202,
        response_model=Accepted,
        responses={202: accepted("Where the order can be read"), **problem_responses(409)},
    )
    async def place(
        tenant: OrderingTenant,
        order: OrderIn,
        response: Response,
        idempotency_key: IdempotencyKey = None,
    ) -> Any:
        """Accepts an order. It is stored before this answers, and will come to an ending."""
        answer = await placing.place(order, tenant, idempotency_key)
        response.status_code = answer.status
        response.headers.update(answer.headers)
        return answer.body

    # Before the route with an order id, which "events" is not.
    @router.get("/orders/events", response_class=EventStream, responses=problem_responses(429, 503))
    async def follow_all(tenant: Tenant, last_event_id: LastEventId = None) -> Response:
        """Every state that orders take from now on, as server-sent events; it has no end."""
        return streams.of_tenant(tenant, last_event_id, changes.open_orders)

    @router.get(
        "/orders/{order_id}",
        response_model=OrderOut,
        responses={200: TAGGED, 304: UNCHANGED, **problem_responses(404)},
    )
    async def read(
        request: Request,
        tenant: Tenant,
        order_id: UUID,
        wait: Wait = 0,
        if_none_match: IfNoneMatch = None,
    ) -> Any:
        """The order as the order service knows it: what you wrote, you read."""
        return await reading.answer(request, tenant, str(order_id), if_none_match, wait)

    @router.get(
        "/orders/{order_id}/events",
        response_class=EventStream,
        responses={204: TOLD, **problem_responses(404)},
    )
    async def follow(tenant: Tenant, order_id: UUID, last_event_id: LastEventId = None) -> Response:
        """The order's states, as server-sent events, until it ends."""
        now = changes.now(await run_in_threadpool(find, tenant, str(order_id)))
        return await streams.of_one(now, last_event_id)

    @router.delete(
        "/orders/{order_id}",
        status_code=202,
        response_model=OrderOut,
        responses=problem_responses(404, 409),
    )
    def cancel(tenant: CancellingTenant, order_id: UUID) -> Any:
        """Asks for cancellation: refused once the order has ended otherwise; a repeat is fine."""
        with runtime.db.begin() as conn:
            order = _found(store.find(conn, tenant, str(order_id)))
            command = api_event("CancelOrder", order.key, {}, tenant, order.customer_id, uuid4())
            decision = runtime.command(conn, command)
            order = _found(store.find(conn, tenant, order.key))
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
    whole = APIRouter()
    whole.include_router(front_routes())
    whole.include_router(router)
    return whole


def _found(order: Order | None) -> Order:
    if order is None:
        raise Problem(404, "not-found", "There is no such order.")
    return order


def _all(*parts: Feed | Admission) -> Callable[[Any], AbstractAsyncContextManager[None]]:
    """One lifespan of several parts."""

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for part in parts:
                await stack.enter_async_context(part.lifespan(app))
            yield

    return lifespan
