"""Counts and times every request, by the route that answered it: its path has ids."""

import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.eventkit import metrics
from services.eventkit.tracing import UNTRACED

UNMATCHED = "unmatched"
_ASKS_TO_WAIT = b"wait="
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Measured:
    """The outermost layer of an application: what it sees is what the client got."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in UNTRACED:
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _answered(scope, status, time.perf_counter() - started)
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            if not status:
                _answered(scope, 500, time.perf_counter() - started)


def _answered(scope: Scope, status: int, seconds: float) -> None:
    """Where a stream or a long poll is slow, that is what the client has asked for."""
    route = getattr(scope.get("route"), "path", UNMATCHED)
    method = scope["method"] if scope["method"] in _METHODS else "other"
    metrics.REQUESTS.labels(method, route, str(status)).inc()
    if _ASKS_TO_WAIT not in scope["query_string"]:
        metrics.REQUEST_SECONDS.labels(method, route).observe(seconds)
