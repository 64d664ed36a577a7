"""Reading an order, and waiting for it to change without holding a database connection."""

import asyncio
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from services.eventkit.http import Problem
from services.eventkit.service import Runtime
from services.order.domain import Order
from services.order.feed import Feed
from services.order.models import OrderOut, shown
from services.order.settings import OrderSettings
from services.order.store import OrderStore

_LOOK_FOR_CLIENT = 2.0


@dataclass(frozen=True, slots=True)
class Shown:
    """An order as it is told, and the tag of exactly this."""

    body: Mapping[str, Any]
    tag: str
    ended: bool

    def matches(self, if_none_match: str | None) -> bool:
        """Whether the client has this already (RFC 9110, weak comparison)."""
        given = [tag.strip().removeprefix("W/") for tag in (if_none_match or "").split(",")]
        return self.tag in given or "*" in given


class Reading:
    """Reads orders."""

    def __init__(self, runtime: Runtime[Order, OrderSettings], feed: Feed) -> None:
        self._runtime = runtime
        self._feed = feed
        self._store = OrderStore()

    async def read(self, tenant_id: str, order_id: str) -> Shown:
        """The order as it is now; `Problem` 404 where the tenant has none of this id."""
        order = await run_in_threadpool(self.find, tenant_id, order_id)
        told = OrderOut(**shown(order, self._runtime.settings.jaeger_url))
        body = told.model_dump(mode="json")
        canonical = json.dumps(body, sort_keys=True).encode()
        tag = f'"{hashlib.sha256(canonical).hexdigest()[:20]}"'
        return Shown(body, tag, order.ended_at is not None)

    async def wait(
        self,
        request: Request,
        tenant_id: str,
        order_id: str,
        if_none_match: str | None,
        seconds: float,
    ) -> Shown:
        """The order once it differs from what the client has, or else has ended.

        After ``seconds``, or when the process stops, as it is then.
        """

        def worth_telling(now: Shown) -> bool:
            return not now.matches(if_none_match) if if_none_match else now.ended

        now = await self.read(tenant_id, order_id)
        if worth_telling(now):
            return now
        self._feed.check_room(tenant_id)
        clock = asyncio.get_running_loop().time
        deadline = clock() + seconds
        async with self._feed.wait_for("poll", tenant_id, order_id) as waiter:
            now = await self.read(tenant_id, order_id)
            while not worth_telling(now) and not waiter.closed and clock() < deadline:
                if await waiter.take(min(_LOOK_FOR_CLIENT, max(0.0, deadline - clock()))):
                    now = await self.read(tenant_id, order_id)
                elif await request.is_disconnected():
                    break
        return now

    def find(self, tenant_id: str, order_id: str) -> Order:
        """The order itself; `Problem` 404 where the tenant has none of this id."""
        with self._runtime.db.connect() as conn:
            return found(self._store.find(conn, tenant_id, order_id))


def found(order: Order | None) -> Order:
    """The order; `Problem` 404 where there is none."""
    if order is None:
        raise Problem(404, "not-found", "There is no such order.")
    return order
