"""HTTP: the FastAPI application that every process serves, with problem details for every error.

Errors are ``application/problem+json`` (RFC 9457) with the field at fault and the trace id.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fastapi import APIRouter, FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from opentelemetry import trace
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel, Field
from sqlalchemy.exc import DBAPIError, TimeoutError
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from services.eventkit import logs
from services.eventkit.db import is_bad_data, is_refused
from services.eventkit.http_metrics import Measured
from services.eventkit.tracing import REQUEST_SPANS

LOG = logs.logger("http")
PROBLEM_JSON = "application/problem+json"

Check = Callable[[], str | None]


class FieldError(BaseModel):
    """What is wrong with one field of a request."""

    field: str = Field(examples=["lines.0.quantity"])
    message: str = Field(examples=["Input should be less than or equal to 10000"])


class ProblemDetails(BaseModel):
    """An error answer (RFC 9457). ``type`` is stable: programs may compare it."""

    type: str = Field(examples=["/problems/invalid-request"])
    title: str = Field(examples=["Invalid request"])
    status: int = Field(examples=[422])
    detail: str = Field(examples=["The request has 1 invalid field."])
    errors: list[FieldError] = Field(default_factory=list)
    reason: str | None = Field(default=None, description="Why, in one word, where there are more")
    trace_id: str | None = Field(default=None, examples=["4bf92f3577b34da6a3ce929d0e0e4736"])


class Problem(Exception):
    """Raise it to answer a request with problem details; ``name`` becomes the stable type."""

    def __init__(
        self,
        status: int,
        name: str,
        detail: str,
        errors: Sequence[FieldError] = (),
        headers: dict[str, str] | None = None,
        reason: str | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.name = name
        self.detail = detail
        self.errors = errors
        self.headers = headers
        self.reason = reason


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The error answers of a route, for its OpenAPI description."""
    schema = {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}
    return {
        status: {"model": ProblemDetails, "content": {PROBLEM_JSON: schema}} for status in statuses
    }


OFTEN = problem_responses(413, 422, 503)
"""What every route may answer: too large, not valid, not now."""
EVERYWHERE = problem_responses(401, 413, 422, 429, 503)
"""What every route of a tenant may answer: besides, no key and too often."""


def create_app(
    title: str,
    routers: Sequence[APIRouter],
    checks: dict[str, Check],
    description: str = "",
    *,
    access: Any = None,
    max_body: int = 1_048_576,
    large_bodies: Mapping[str, int] | None = None,
) -> FastAPI:
    """An application with these routers, health, metrics, tracing and problem details.

    ``checks`` say whether the process is ready: each returns None, or why it is not. ``access``
    knows the tenants (`services.eventkit.access`); ``max_body`` is in bytes, of every path but
    those of ``large_bodies``.
    """
    app = FastAPI(title=title, description=description, version="1.0.0", telemetry=REQUEST_SPANS)
    app.state.access = access
    app.add_middleware(_LargeBody, max_body=max_body, larger=large_bodies or {})
    app.add_middleware(Measured)
    for router in routers:
        app.include_router(router)
    app.include_router(_operations(checks))
    app.add_exception_handler(Problem, _on_problem)  # type: ignore[arg-type]
    app.add_exception_handler(RequestValidationError, _on_invalid)  # type: ignore[arg-type]
    app.add_exception_handler(StarletteHTTPException, _on_http)  # type: ignore[arg-type]
    app.add_exception_handler(DBAPIError, _on_database)
    app.add_exception_handler(TimeoutError, _on_database)
    app.add_exception_handler(Exception, _on_bug)
    return app


class _LargeBody:
    """Refuses a body that says it is too large before any of it is read.

    One that does not say how large it is meets Starlette's middleware while it is read.
    """

    def __init__(self, app: ASGIApp, max_body: int, larger: Mapping[str, int]) -> None:
        self._max_body = max_body
        self._larger = larger
        limits = {max_body, *larger.values()}
        self._apps = {most: RequestBodyLimitMiddleware(app, most) for most in limits}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        most = self._larger.get(scope.get("path", ""), self._max_body)
        app: ASGIApp = self._apps[most]
        if scope["type"] == "http":
            said = Headers(scope=scope).get("content-length", "")
            if said.isdecimal() and int(said) > most:
                detail = f"A request may have {most} bytes here."
                app = _answer(413, "too-large", detail, headers={"Connection": "close"})
        await app(scope, receive, send)


def current_trace_id() -> str | None:
    """The trace id of the request being answered, as 32 hexadecimal digits."""
    context = trace.get_current_span().get_span_context()
    return f"{context.trace_id:032x}" if context.is_valid else None


def _operations(checks: dict[str, Check]) -> APIRouter:
    router = APIRouter(tags=["operations"])

    @router.get("/health/live")
    def live() -> dict[str, str]:
        """The process answers."""
        return {"status": "live"}

    @router.get("/health/ready", responses={503: {"description": "Not ready; says why"}})
    def ready() -> JSONResponse:
        """The process can do its work: every part of it was asked."""
        # A copy: a service that is starting adds its parts while it is asked.
        asked = list(checks.items())
        reasons = {name: why for name, check in asked if (why := check()) is not None}
        status = "not ready" if reasons else "ready"
        return JSONResponse({"status": status, "reasons": reasons}, 503 if reasons else 200)

    @router.get("/metrics", include_in_schema=False)
    def metrics() -> Response:
        return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)

    return router


def _answer(
    status: int,
    name: str,
    detail: str,
    errors: Sequence[FieldError] = (),
    headers: dict[str, str] | None = None,
    reason: str | None = None,
) -> JSONResponse:
    body = ProblemDetails(
        type=f"/problems/{name}",
        title=name.replace("-", " ").capitalize(),
        status=status,
        detail=detail,
        errors=list(errors),
        reason=reason,
        trace_id=current_trace_id(),
    )
    return JSONResponse(
        body.model_dump(exclude_none=True), status, headers=headers, media_type=PROBLEM_JSON
    )


def _on_problem(_: Request, error: Problem) -> JSONResponse:
    return _answer(
        error.status, error.name, error.detail, error.errors, error.headers, error.reason
    )


def _on_invalid(_: Request, error: RequestValidationError) -> JSONResponse:
    errors = [
        FieldError(field=_field_name(problem), message=problem["msg"]) for problem in error.errors()
    ]
    count = f"{len(errors)} invalid field{'s' if len(errors) > 1 else ''}"
    return _answer(422, "invalid-request", f"The request has {count}.", errors)


def _on_http(_: Request, error: HTTPException) -> JSONResponse:
    if error.status_code == 400:  # FastAPI's word for a body that is no text
        wrong = FieldError(field="body", message=str(error.detail))
        return _answer(422, "invalid-request", "The request has 1 invalid field.", [wrong])
    names = {404: "not-found", 405: "method-not-allowed", 413: "too-large"}
    name = names.get(error.status_code, "http-error")
    headers = dict(error.headers) if error.headers else None
    return _answer(error.status_code, name, str(error.detail), headers=headers)


def _on_database(_: Request, error: Exception) -> JSONResponse:
    if is_bad_data(error) and "NUL" in str(error):  # the driver's word; no field is for such text
        return _answer(422, "invalid-request", "A text may not have a NUL character.")
    if is_bad_data(error) or is_refused(error):
        return _on_bug(_, error)
    LOG.warning("database away", error=str(error)[:300])
    detail = "The service cannot reach its database. Try again, under the same key if there is one."
    return _answer(503, "unavailable", detail, headers={"Retry-After": "1"})


def _on_bug(_: Request, error: Exception) -> JSONResponse:
    LOG.error("request failed", exc_info=error)
    return _answer(500, "internal-error", "The service failed; the trace id helps to find why.")


def _field_name(problem: Mapping[str, Any]) -> str:
    """``("body", "lines", 0, "sku")`` is ``lines.0.sku``; a body that is no JSON is ``body``."""
    location = problem["loc"]
    if problem["type"] == "json_invalid" or location == ("body",):
        return "body"
    parts = location[1:] if location[0] in ("body", "header") else location
    return ".".join(str(part) for part in parts)
