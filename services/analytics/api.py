"""Figures over HTTP: queries over the rows of orders."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from services.analytics import store
from services.analytics.domain import OrderFigures
from services.analytics.report_api import report_routes
from services.analytics.reports import Report
from services.analytics.settings import AnalyticsSettings
from services.eventkit.access import Tenant
from services.eventkit.http import EVERYWHERE, Problem, problem_responses
from services.eventkit.service import Runtime


class Money(BaseModel):
    """Sums of one currency, in minor units."""

    confirmed_total: int = Field(examples=[125_000])
    captured: int = Field(examples=[131_000])
    refunded: int = Field(examples=[6_000])


class Figures(BaseModel):
    """What all orders come to."""

    orders_by_status: dict[str, int] = Field(examples=[{"cancelled": 4, "confirmed": 26}])
    by_currency: dict[str, Money]
    mails_sent: int = Field(examples=[30])


class OrderFigure(BaseModel):
    """What analytics knows of one order; null is "not heard of yet"."""

    order_id: str
    status: str | None = Field(examples=["confirmed"])
    reason: str | None
    customer_id: str | None
    currency: str | None = Field(examples=["EUR"])
    total: int | None = Field(examples=[4200])
    placed_at: datetime | None
    ended_at: datetime | None
    reservation: str | None = Field(examples=["reserved"])
    payment: str | None = Field(examples=["captured"])
    captured: int | None
    refunded: int | None
    mails: list[str] = Field(examples=[["confirmed"]])


OrderId = Annotated[UUID, Path(examples=["0b54b3a4-6d0e-4b0a-9f3e-1d2c3b4a5f60"])]


def routes(runtime: Runtime[OrderFigures | Report, AnalyticsSettings]) -> APIRouter:
    """The service's routes."""
    router = APIRouter(tags=["figures"], responses=EVERYWHERE)

    @router.get("/figures")
    def figures(tenant: Tenant) -> Figures:
        """Orders by status, money by currency, mails: of all events read so far."""
        with runtime.db.connect() as conn:
            money = store.money(conn, tenant)
            return Figures(
                orders_by_status=store.orders_by_status(conn, tenant),
                by_currency={code: Money(**asdict(sums)) for code, sums in money.items()},
                mails_sent=store.mails_sent(conn, tenant),
            )

    @router.get("/orders/{order_id}", responses=problem_responses(404))
    def order(tenant: Tenant, order_id: OrderId) -> OrderFigure:
        """One order as its events have told so far."""
        with runtime.db.connect() as conn:
            found = store.order(conn, tenant, str(order_id))
        if found is None:
            raise Problem(404, "unknown-order", f"No event of order {order_id} was read so far.")
        return OrderFigure(order_id=found.key, **_fields(found))

    router.include_router(report_routes(runtime))
    return router


def _fields(figures: OrderFigures) -> dict[str, Any]:
    known = asdict(figures)
    return {name: known[name] for name in OrderFigure.model_fields if name != "order_id"}
