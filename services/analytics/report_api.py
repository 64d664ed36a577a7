"""The API of reports: ask for one, follow it, download it, cancel it."""

import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Any, Final
from uuid import uuid4

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from sqlalchemy.engine import Connection
from starlette.concurrency import run_in_threadpool

from services.analytics import report_store
from services.analytics.domain import OrderFigures
from services.analytics.reports import CANCELLED, PREFIX, SUCCEEDED, Report
from services.analytics.settings import AnalyticsSettings
from services.eventkit.access import CancellingTenant, Tenant
from services.eventkit.decision import Decision
from services.eventkit.feed import Feed
from services.eventkit.http import EVERYWHERE, Problem, problem_responses
from services.eventkit.idempotency import Answer, IdempotencyKey, Once, accepted
from services.eventkit.moments import rfc_3339
from services.eventkit.reading import (
    TAGGED,
    UNCHANGED,
    IfNoneMatch,
    Reading,
    Shown,
    Wait,
    shown,
)
from services.eventkit.service import Runtime, api_event
from services.eventkit.streams import TOLD, EventStream, LastEventId, Streams

ReportId = Annotated[
    str, Path(pattern=r"^rep_[0-9a-f]{24}$", examples=["rep_0123456789abcdef01234567"])
]
_YEARS: Final = range(2000, 2100)


def _time(value: Any) -> Any:
    if int(rfc_3339(value)[:4]) not in _YEARS:
        raise ValueError(f"not in the years {_YEARS.start} to {_YEARS.stop - 1}")
    return value


Time = Annotated[AwareDatetime, BeforeValidator(_time)]


class ReportIn(BaseModel):
    """The period: orders placed at ``since`` or later, and before ``until``."""

    model_config = ConfigDict(extra="forbid")

    since: Time = Field(examples=["2026-01-01T00:00:00Z"])
    until: Time = Field(examples=["2026-02-01T00:00:00Z"])

    @model_validator(mode="after")
    def _some_time(self) -> "ReportIn":
        if self.until <= self.since:
            raise ValueError("until must be after since")
        return self


class ReportOut(BaseModel):
    """A report and how far it is."""

    report_id: str = Field(examples=["rep_0123456789abcdef01234567"])
    status: str = Field(examples=["pending", "running", "succeeded", "failed", "cancelled"])
    reason: str | None = Field(description="Why it failed")
    percent: int = Field(examples=[40], description="100 once it is ready")
    rows: int = Field(examples=[8000], description="Written so far")
    size: int = Field(examples=[1_200_000], description="Bytes written so far")
    since: datetime
    until: datetime
    requested_at: datetime
    updated_at: datetime
    ended_at: datetime | None
    expires_at: datetime | None = Field(description="Until when it can be downloaded")
    status_url: str = Field(examples=["/reports/rep_0123456789abcdef01234567"])
    file_url: str | None = Field(description="Where it can be downloaded, once it is ready")


class ReportList(BaseModel):
    """Reports, newest first."""

    reports: list[ReportOut]


_FILE: Final[dict[str, Any]] = {
    "description": "The file, as CSV in UTF-8",
    "content": {
        "text/csv": {
            "schema": {"type": "string"},
            "example": f"{','.join(report_store.COLUMNS)}\r\n",
        }
    },
}


def report_routes(runtime: Runtime[OrderFigures | Report, AnalyticsSettings]) -> APIRouter:
    """The routes of reports."""
    settings, db = runtime.settings, runtime.db
    feed = Feed(db, report_store.LOG, runtime.is_stopping, settings.stream_limit)
    streams = Streams(db, feed, settings.heartbeat)
    once = Once(db, "POST /reports")
    router = APIRouter(
        prefix="/reports", tags=["reports"], responses=EVERYWHERE, lifespan=feed.lifespan
    )

    def find(tenant: str, report_id: str) -> Report:
        with db.connect() as conn:
            return _found(report_store.find(conn, tenant, report_id))

    def look(tenant: str, report_id: str) -> Shown:
        report = find(tenant, report_id)
        return shown(_told(report), ended=not report.is_open)

    reading = Reading(feed, look)

    def command(conn: Connection, name: str, report_id: str, tenant: str, data: Any) -> Any:
        return runtime.command(conn, api_event(name, report_id, data, tenant, tenant, uuid4()))

    @router.post(
        "",
        status_code=202,
        response_model=ReportOut,
        responses={202: accepted("Where the report can be followed"), **problem_responses(409)},
    )
    async def request(
        tenant: Tenant, body: ReportIn, response: Response, idempotency_key: IdempotencyKey = None
    ) -> Any:
        """Asks for a report. It is stored before this answers, and written meanwhile."""
        report_id = f"{PREFIX}{secrets.token_hex(12)}"
        now = datetime.now(UTC)
        new = Report(report_id, tenant, body.since, body.until, now, now)

        def store(conn: Connection) -> Decision[Any]:
            if report_store.open_reports(conn, tenant) >= settings.open_reports:
                detail = f"{settings.open_reports} reports are being written already."
                raise Problem(429, "too-many-reports", detail, headers={"Retry-After": "5"})
            data = {"since": body.since, "until": body.until}
            decision: Decision[Any] = command(conn, "RequestReport", report_id, tenant, data)
            return decision

        content = body.model_dump(mode="json")
        first = Answer(202, _told(new).model_dump(mode="json"))
        answer, decision = await once.do(tenant, idempotency_key, content, first, store)
        if decision:
            runtime.committed(decision)
        response.headers.update(answer.headers)
        return answer.body

    @router.get("")
    def list_reports(
        tenant: Tenant, limit: Annotated[int, Query(ge=1, le=500)] = 100
    ) -> ReportList:
        """The newest reports, newest first."""
        with db.connect() as conn:
            return ReportList(
                reports=[_told(one) for one in report_store.newest(conn, tenant, limit)]
            )

    @router.get(
        "/{report_id}",
        response_model=ReportOut,
        responses={200: TAGGED, 304: UNCHANGED, **problem_responses(404)},
    )
    async def read(
        request: Request,
        tenant: Tenant,
        report_id: ReportId,
        wait: Wait = 0,
        if_none_match: IfNoneMatch = None,
    ) -> Any:
        """The report and how far it is."""
        return await reading.answer(request, tenant, report_id, if_none_match, wait)

    @router.get(
        "/{report_id}/events",
        response_class=EventStream,
        responses={204: TOLD, **problem_responses(404)},
    )
    async def follow(
        tenant: Tenant, report_id: ReportId, last_event_id: LastEventId = None
    ) -> Response:
        """How far the report is, as server-sent events, until it ends."""
        report = await run_in_threadpool(find, tenant, report_id)
        now = report_store.LOG.now(tenant, report_id, report_store.progress(report))
        return await streams.of_one(now, last_event_id)

    @router.get(
        "/{report_id}/file",
        response_class=StreamingResponse,
        responses={200: _FILE, **problem_responses(404, 409, 410)},
    )
    def download(tenant: Tenant, report_id: ReportId) -> Response:
        """The file, for as long as it is kept."""
        report = find(tenant, report_id)
        if report.status != SUCCEEDED:
            raise Problem(409, "report-not-ready", f"The report is {report.status}.")
        if report.expires_at is None or report.expires_at <= datetime.now(UTC):
            raise Problem(410, "report-expired", "The file is gone; ask for the report again.")
        headers = {
            "Content-Disposition": f'attachment; filename="{report_id}.csv"',
            "Content-Length": str(report.size),
            "Cache-Control": "private",
        }
        return StreamingResponse(pages(report), media_type="text/csv", headers=headers)

    def pages(report: Report) -> Iterator[bytes]:
        """Page by page, without a connection held while a client reads slowly."""
        for number in range(report.pages):
            with db.connect() as conn:
                page = report_store.page(conn, report.key, number)
            if page is None:
                return  # it expired meanwhile: the client sees that its length is not what was said
            yield page

    @router.delete("/{report_id}", status_code=202, responses=problem_responses(404, 409))
    def cancel(tenant: CancellingTenant, report_id: ReportId) -> ReportOut:
        """Stops writing the report: refused once it has ended otherwise; a repeat is fine."""
        with db.begin() as conn:
            _found(report_store.find(conn, tenant, report_id))
            command(conn, "CancelReport", report_id, tenant, {})
            report = _found(report_store.find(conn, tenant, report_id))
        if report.status != CANCELLED:
            raise Problem(409, "report-ended", f"The report has {report.status} already.")
        return _told(report)

    return router


def _found(report: Report | None) -> Report:
    if report is None:
        raise Problem(404, "not-found", "There is no such report.")
    return report


def _told(report: Report) -> ReportOut:
    url = f"/reports/{report.key}"
    own = {"report_id", "status_url", "file_url"}
    return ReportOut(
        report_id=report.key,
        status_url=url,
        file_url=f"{url}/file" if report.status == SUCCEEDED else None,
        **{name: getattr(report, name) for name in ReportOut.model_fields if name not in own},
    )
