"""Placing an order: once for each idempotency key, in one transaction."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from sqlalchemy.engine import Connection

from services.eventkit.access import REFUSED
from services.eventkit.http import Problem, current_trace_id
from services.eventkit.service import Runtime, api_event
from services.order import domain
from services.order.admission import Admission
from services.order.domain import Order
from services.order.idempotency import Answer, Name, Twins, first_answer
from services.order.models import OrderIn, trace_url
from services.order.settings import OrderSettings
from services.order.store import OrderStore

ROUTE = "POST /orders"


class Placing:
    """Places orders."""

    def __init__(self, runtime: Runtime[Order, OrderSettings], admission: Admission) -> None:
        self._runtime = runtime
        self._admission = admission
        self._store = OrderStore()
        self._twins = Twins()

    def place(self, order: OrderIn, tenant_id: str, key: str | None) -> Answer:
        """Stores an order, or finds the answer that the same key got before.

        Raises `Problem` 422 where the key came with other content, 409 where its first request is
        still in flight, 503 while the system is overloaded, 429 where the tenant has too many open
        orders.
        """
        self._admission.check()
        if key is None:
            return self._once(order, tenant_id, None, 0)
        name = Name(tenant_id, ROUTE, key)
        with self._twins.one_by_one(name) as patience:
            return self._once(order, tenant_id, name, patience)

    def _once(self, order: OrderIn, tenant_id: str, name: Name | None, patience: float) -> Answer:
        new = self._accepted()
        content = order.model_dump()
        with self._runtime.db.begin() as conn:
            if name and (first := first_answer(conn, name, content, new, patience)):
                return first
            self._check_quota(conn, tenant_id)
            data: dict[str, Any] = content | {
                "pay_by": datetime.now(UTC) + timedelta(seconds=order.pay_within),
                "trace_id": new.body["trace_id"],
            }
            command = api_event(
                "PlaceOrder",
                new.body["order_id"],
                data,
                tenant_id,
                order.customer_id,
                uuid4(),
            )
            decision = self._runtime.command(conn, command)
        self._runtime.committed(decision)
        return new

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
