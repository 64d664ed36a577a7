"""The provider's HTTP interface."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Query, Request
from fastapi.responses import JSONResponse

from infra.fakes.payment_provider import charges, refunds
from infra.fakes.payment_provider.asks import ChargeAsk, KeyHeader, RefundAsk
from infra.fakes.payment_provider.ledger import (
    Ledger,
    Reply,
    page_of_entries,
    page_of_requests,
)
from infra.fakes.payment_provider.notices import notices
from infra.fakes.payment_provider.settings import ProviderSettings
from infra.fakes.payment_provider.settlement import Settlements
from infra.fakes.payment_provider.tokens import behaviour_of
from infra.fakes.serving import health_router
from services.eventkit.tracing import REQUEST_SPANS

NAME = "payment-provider"

After = Annotated[int, Query(ge=0)]
Limit = Annotated[int, Query(ge=1, le=1000)]


def create_app(settings: ProviderSettings) -> FastAPI:
    """The application on the ledger in ``settings.data_dir``."""
    ledger = Ledger(settings.data_dir)
    settlements = Settlements(ledger)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await settlements.resume()
        async with notices(ledger, settings.webhook_url, settings.webhook_secret):
            yield
        await settlements.close()
        ledger.file.close()

    app = FastAPI(title="Payment provider (fake)", lifespan=lifespan, telemetry=REQUEST_SPANS)
    app.include_router(health_router(ledger.file))
    app.include_router(_charges_router(ledger, settlements, settings.hold_seconds))
    app.include_router(_refunds_router(ledger))
    app.include_router(_records_router(ledger))
    return app


def _charges_router(ledger: Ledger, settlements: Settlements, hold_seconds: float) -> APIRouter:
    router = APIRouter(prefix=charges.PATH, tags=["charges"])

    @router.post("", status_code=201)
    async def open_charge(key: KeyHeader, ask: ChargeAsk, request: Request) -> JSONResponse:
        reply = await ledger.ask(
            "POST", charges.PATH, key, partial(charges.open_charge, key=key, ask=ask)
        )
        processing = reply.body.get("status") == "processing"
        if processing:
            await settlements.start(key)
        if reply.first and behaviour_of(ask.token).hold_first:
            await _while_connected(request, asyncio.sleep(hold_seconds))
        if processing and not behaviour_of(ask.token).at_once:
            await _while_connected(request, settlements.wait(key))
            reply = await ledger.file.run(partial(charges.answer, key=key))
        return _respond(reply)

    @router.get("/{key}")
    async def look_up(key: str) -> JSONResponse:
        path = f"{charges.PATH}/{key}"
        return _respond(await ledger.ask("GET", path, key, partial(charges.look_up, key=key)))

    @router.post("/{key}/void")
    async def void(key: str) -> JSONResponse:
        path = f"{charges.PATH}/{key}/void"
        return _respond(await ledger.ask("POST", path, key, partial(charges.void, key=key)))

    return router


def _refunds_router(ledger: Ledger) -> APIRouter:
    router = APIRouter(prefix=refunds.PATH, tags=["refunds"])

    @router.post("", status_code=201)
    async def make_refund(key: KeyHeader, ask: RefundAsk) -> JSONResponse:
        operation = partial(refunds.make_refund, key=key, ask=ask)
        return _respond(await ledger.ask("POST", refunds.PATH, key, operation))

    @router.get("/{key}")
    async def look_up(key: str) -> JSONResponse:
        path = f"{refunds.PATH}/{key}"
        return _respond(await ledger.ask("GET", path, key, partial(refunds.look_up, key=key)))

    return router


def _records_router(ledger: Ledger) -> APIRouter:
    router = APIRouter(tags=["records"])

    @router.get("/ledger")
    async def entries(after: After = 0, limit: Limit = 1000) -> dict[str, Any]:
        return await ledger.file.run(partial(page_of_entries, after=after, limit=limit))

    @router.get("/requests")
    async def requests(
        key: str | None = None, after: After = 0, limit: Limit = 1000
    ) -> dict[str, Any]:
        return await ledger.file.run(partial(page_of_requests, key=key, after=after, limit=limit))

    return router


async def _while_connected(request: Request, work: Coroutine[Any, Any, None]) -> None:
    """Return when ``work`` is done or the client has gone, whichever comes first."""
    tasks = {asyncio.ensure_future(work), asyncio.ensure_future(_disconnect(request))}
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


async def _disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _respond(reply: Reply) -> JSONResponse:
    return JSONResponse(reply.body, status_code=reply.status)
