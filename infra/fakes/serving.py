"""What the stand-ins share as servers: settings, health, spans and the way they run."""

import signal
from pathlib import Path

import uvicorn
from fastapi import APIRouter, FastAPI
from fastapi.responses import JSONResponse

from infra.fakes.durable import DurableFile
from services.eventkit import logs, tracing
from services.eventkit.settings import ProcessSettings

# A request that is being held on purpose must not hold up the shutdown.
SHUTDOWN_SECONDS = 2


class FakeSettings(ProcessSettings):
    """``data_dir`` is the folder of the durable file."""

    data_dir: Path


def health_router(file: DurableFile) -> APIRouter:
    """``/health/live`` and ``/health/ready``; ready means that the file answers."""
    router = APIRouter(prefix="/health", tags=["health"])

    @router.get("/live")
    async def live() -> dict[str, str]:
        return {"status": "live"}

    @router.get("/ready")
    async def ready() -> JSONResponse:
        try:
            await file.run(lambda connection: connection.execute("SELECT 1").fetchone())
        except Exception as error:
            reasons = [f"storage: {error}"]
            return JSONResponse({"status": "not ready", "reasons": reasons}, status_code=503)
        return JSONResponse({"status": "ready", "reasons": []})

    return router


def serve(name: str, app: FastAPI, settings: FakeSettings) -> None:
    """Serve ``app`` until SIGTERM or SIGINT, with a span for every request but health checks."""
    logs.setup(name, settings.log_format, settings.log_level)
    tracing.setup(name, settings.otlp_endpoint, settings.trace_share)
    # uvicorn raises the signal again once it has stopped; the last spans are still to be sent.
    signal.signal(signal.SIGTERM, lambda *_: None)
    uvicorn.run(
        app,
        host=settings.http_host,
        port=settings.http_port,
        access_log=False,
        log_config=None,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    tracing.shutdown()
