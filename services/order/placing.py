"""Placing an order: once for each idempotency key, in one transaction."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from sqlalchemy.engine import Connection

from services.eventkit.access import REFUSED
from services.eventkit.decision import Decision
from services.eventkit.http import Problem, current_trace_id
from services.eventkit.idempotency import Answer, Once
from services.eventkit.service import Runtime, api_event
from services.order import domain
from services.order.admission import Admission
from services.order.domain import Order
from services.order.models import OrderIn, trace_url
from services.order.settings import OrderSettings
from services.order.store import OrderStore

ROUTE = "POST /orders"


class Placing:
    """Places orders."""

    def __init__(self, runtime: Runtime[Order, OrderSettings], admission: Admission) -> None:
        self._runtime = runtime
        self._store = OrderStore()
        self._once = Once(runtime.db, ROUTE, admission.turn)

    async def place(self, order: OrderIn, tenant_id: str, key: str | None) -> Answer:
        """Stores an order, or finds the answer that the same key got before.

        Raises `Problem` 422 where the key came with other content, 409 where its first request is
        still in flight, 503 while the system is overloaded, 429 where the tenant has too many open
        orders.
        """
        new = self._accepted()
        content = order.model_dump()

        def store(conn: Connection) -> Decision[Order]:
            self._check_quota(conn, tenant_id)
            data: dict[str, Any] = content | {
                "pay_by": datetime.now(UTC) + timedelta(seconds=order.pay_within),
                "trace_id": new.body["trace_id"],
            }
            order_id, customer = new.body["order_id"], order.customer_id
            command = api_event("PlaceOrder", order_id, data, tenant_id, customer, uuid4())
            return self._runtime.command(conn, command)

        answer, decision = await self._once.do(tenant_id, key, content, new, store)
        if decision:
            self._runtime.committed(decision)
        return answer

    def _check_quota(self, conn: Connection, tenant_id: str) -> None:
        """Orders placed at the same moment may pass it together: it is a limit, not a count."""
        quota = self._runtime.access.allowance(tenant_id).open_orders
        most = self._runtime.settings.open_orders if quota is None else quota
        if self._store.open_orders(conn, tenant_id, most) >= most:
            REFUSED.labels("quota").inc()
            detail = f"{most} orders are open already."
            raise Problem(429, "too-many-open-orders", detail, headers={"Retry-After": "5"})

    def _accepted(self) -> Answer:
        order_id, trace_id = str(uuid4()), current_trace_id()
        body = {
            "order_id": order_id,
            "status": domain.PENDING,
            "status_url": f"/orders/{order_id}",
            "trace_id": trace_id,
            "trace_url": trace_url(self._runtime.settings.jaeger_url, trace_id),
        }
        return Answer(202, body)
