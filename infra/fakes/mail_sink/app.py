"""The sink's HTTP interface, which also carries the SMTP server's life."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Query

from infra.fakes.mail_sink.forwarder import Forwarder
from infra.fakes.mail_sink.mailbox import Mailbox
from infra.fakes.mail_sink.settings import SinkSettings
from infra.fakes.mail_sink.smtp import listen
from infra.fakes.serving import health_router

NAME = "mail-sink"


def create_app(settings: SinkSettings) -> FastAPI:
    """The application on the mailbox in ``settings.data_dir``; SMTP listens while it runs."""
    mailbox = Mailbox(settings.data_dir)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        forwarder = Forwarder(settings.forward_host, settings.forward_port)
        server = await listen(mailbox, forwarder, settings.http_host, settings.smtp_port)
        yield
        server.close()
        forwarder.close()
        mailbox.file.close()

    app = FastAPI(title="Mail sink", lifespan=lifespan)
    app.include_router(health_router(mailbox.file))
    app.include_router(_messages_router(mailbox))
    return app


def _messages_router(mailbox: Mailbox) -> APIRouter:
    router = APIRouter(tags=["messages"])

    @router.get("/messages")
    async def messages(
        to: str | None = None,
        order_id: str | None = None,
        after: Annotated[int, Query(ge=0)] = 0,
        limit: Annotated[int, Query(ge=1, le=1000)] = 1000,
    ) -> dict[str, Any]:
        return await mailbox.page(to, order_id, after, limit)

    return router
