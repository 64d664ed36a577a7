"""The API of payment: read an order's payment, and have a failed refund tried again."""

from typing import Annotated
from uuid import UUID, uuid4

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, Field
from sqlalchemy.engine import Connection
from starlette.concurrency import run_in_threadpool

from services.eventkit import operations
from services.eventkit.access import Tenant
from services.eventkit.decision import Decision
from services.eventkit.http import EVERYWHERE, Problem, problem_responses
from services.eventkit.service import Runtime, api_event
from services.payment.confirmations import Notice, message_id, take_in, verified
from services.payment.domain import REFUND_FAILED, Payment, payment_key
from services.payment.settings import PaymentSettings
from services.payment.store import PaymentStore, payment_of

OrderId = Annotated[UUID, Path(examples=["0b54b3a4-6d0e-4b0a-9f3e-1d2c3b4a5f60"])]


class PaymentView(BaseModel):
    """An order's payment. Money is in minor units of the currency."""

    payment_id: str = Field(examples=["payment:0b54b3a4-6d0e-4b0a-9f3e-1d2c3b4a5f60"])
    order_id: str
    status: str = Field(examples=["captured"])
    amount: int = Field(examples=[4200])
    currency: str = Field(examples=["EUR"])
    captured: int = Field(examples=[4200])
    refunded: int = Field(examples=[0])
    reason: str | None = Field(examples=["card_expired"])
    version: int = Field(examples=[1])


class Received(BaseModel):
    """It is stored; what it means is looked at later."""

    status: str = "received"


_NOTICE = {"schema": Notice.model_json_schema(ref_template="#/components/schemas/{model}")}


def routes(runtime: Runtime[Payment, PaymentSettings]) -> APIRouter:
    """The routes of a running payment service."""
    secret = runtime.settings.provider_webhook_secret if runtime.settings else ""
    router = APIRouter(tags=["payments"], responses=EVERYWHERE)
    operators = operations.operators_router()

    @router.get("/payments/{order_id}", responses=problem_responses(404))
    def read_payment(tenant: Tenant, order_id: OrderId) -> PaymentView:
        """The payment of an order."""
        with runtime.db.begin() as conn:
            return _view(_found(payment_of(conn, tenant, str(order_id)), order_id))

    @router.post(
        "/payments/{order_id}/refund", status_code=202, responses=problem_responses(404, 409)
    )
    def retry_refund(tenant: Tenant, order_id: OrderId) -> PaymentView:
        """Try a refund again that failed for good. The same refund: it can be paid only once."""
        with runtime.db.begin() as conn:
            payment = _found(payment_of(conn, tenant, str(order_id)), order_id)
            decision, seen = refund_again(conn, payment, "operator")
        runtime.committed(decision)
        return seen

    @operators.post(
        "/payments/{order_id}/refund", status_code=202, responses=problem_responses(404, 409)
    )
    def retry_any_refund(order_id: OrderId, wanted: operations.Decision) -> PaymentView:
        """The same for an order of any tenant, kept with who decided it and why."""
        with runtime.db.begin() as conn:
            known = PaymentStore().load(conn, [str(order_id)]).get(str(order_id))
            decision, seen = refund_again(conn, _found(known, order_id), wanted.by)
            operations.keep(conn, wanted, "retry_refund", str(order_id), seen.status)
        runtime.committed(decision)
        return seen

    def refund_again(
        conn: Connection, payment: Payment, by: str
    ) -> tuple[Decision[Payment], PaymentView]:
        event = api_event("RetryRefund", payment.key, {}, payment.tenant_id, by, uuid4())
        decision = runtime.command(conn, event)
        if decision.state is None:
            detail = f"The payment is {payment.status}; only one that is {REFUND_FAILED} has this."
            raise Problem(409, "no-failed-refund", detail)
        return decision, _view(PaymentStore().load(conn, [payment.key])[payment.key])

    @router.post(
        "/webhooks/provider",
        status_code=202,
        openapi_extra={"requestBody": {"required": True, "content": {"application/json": _NOTICE}}},
    )
    async def hear_provider(request: Request) -> Received:
        """What the provider tells by itself (Standard Webhooks); a repeat changes nothing."""
        body = await request.body()
        webhook_id, notice = verified(secret, body, request.headers)
        await run_in_threadpool(take, webhook_id, notice)
        return Received()

    def take(webhook_id: str, notice: Notice) -> None:
        key = str(notice.data.reference)
        with runtime.db.begin() as conn:
            if not take_in(conn, webhook_id, notice):
                return
            payment = PaymentStore().load(conn, [key]).get(key)
            if payment is None:
                return
            told = notice.data.model_dump(mode="json", exclude={"reference"})
            command = api_event(
                "ProviderTold", key, told, payment.tenant_id, "provider", message_id(webhook_id)
            )
            decision = runtime.command(conn, command)
        runtime.committed(decision)

    both = APIRouter()
    both.include_router(router)
    both.include_router(operators)
    return both


def _found(payment: Payment | None, order_id: UUID) -> Payment:
    if payment is None:
        raise Problem(404, "unknown-payment", f"No payment is known for order {order_id}.")
    return payment


def _view(payment: Payment) -> PaymentView:
    return PaymentView(
        payment_id=payment_key(payment.key),
        order_id=payment.key,
        status=payment.status,
        amount=payment.amount,
        currency=payment.currency,
        captured=payment.captured,
        refunded=payment.refunded,
        reason=payment.reason or None,
        version=payment.version,
    )
