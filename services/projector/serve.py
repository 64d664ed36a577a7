"""The API process: serves the read model over HTTP until SIGTERM."""

import signal
import threading
from functools import partial

import uvicorn

from services.eventkit import logs, tracing
from services.eventkit.access import Access
from services.eventkit.db import make_engine
from services.eventkit.settings import load
from services.projector.api import create_read_api
from services.projector.lag import LagMeter
from services.projector.settings import ApiSettings


def main() -> int:
    """Runs until SIGTERM or SIGINT; returns the exit code."""
    settings = load(ApiSettings)
    logs.setup("projector-api", settings.log_format, settings.log_level)
    tracing.setup("projector-api", settings.otlp_endpoint, settings.trace_share)
    engine = make_engine(settings.database_url, name="projector-api")
    meter = LagMeter(engine, settings.kafka_bootstrap, settings.topics)
    watching = partial(meter.watch, settings.lag_look)
    threading.Thread(target=watching, name="lag", daemon=True).start()
    # uvicorn raises the signal again when it has stopped; the exit code is to be 0.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    uvicorn.run(
        create_read_api(engine, meter, Access.of(settings), settings.max_body),
        host=settings.http_host,
        port=settings.http_port,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=5,
    )
    engine.dispose()
    tracing.shutdown()
    return 0
