"""The API of imports: send a file of deliveries, follow it, read what was wrong, cancel it."""

import csv
import io
import secrets
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Annotated, Any, Final
from uuid import uuid4

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field
from sqlalchemy.engine import Connection
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from services.eventkit.access import CancellingTenant, Tenant
from services.eventkit.decision import Decision
from services.eventkit.feed import Feed
from services.eventkit.http import EVERYWHERE, FieldError, Problem, problem_responses
from services.eventkit.idempotency import Answer, IdempotencyKey, Once, accepted
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
from services.inventory import import_store
from services.inventory.imports import (
    ALL,
    CANCELLED,
    HEADER,
    PREFIX,
    Chunk,
    Import,
    Mode,
    NotAFile,
    Splitter,
)
from services.inventory.settings import InventorySettings

PATH: Final = "/stock/imports"
ImportId = Annotated[
    str, Path(pattern=r"^imp_[0-9a-f]{24}$", examples=["imp_0123456789abcdef01234567"])
]
HowMuch = Annotated[
    Mode,
    Query(
        description="`all` applies nothing unless every row is right, `rows` those that are",
        examples=["all"],
    ),
]
_BAD_ROWS: Final = 1000


class ImportOut(BaseModel):
    """An import and how far it is."""

    import_id: str = Field(examples=["imp_0123456789abcdef01234567"])
    mode: str = Field(examples=["all", "rows"])
    status: str = Field(examples=["pending", "running", "succeeded", "failed", "cancelled"])
    reason: str | None = Field(description="Why it failed", examples=["invalid_rows"])
    percent: int = Field(examples=[40], description="100 once it is applied")
    lines: int = Field(examples=[5000], description="Rows in the file")
    size: int = Field(examples=[61_000], description="Bytes of the file")
    valid: int = Field(examples=[4990], description="Rows that are right, so far")
    invalid: int = Field(examples=[10], description="Rows that are not, so far")
    applied: int = Field(examples=[4990], description="Rows that are in the stock")
    requested_at: datetime
    updated_at: datetime
    ended_at: datetime | None
    status_url: str = Field(examples=[f"{PATH}/imp_0123456789abcdef01234567"])
    errors_url: str = Field(description="The lines at fault, as CSV")


class ImportList(BaseModel):
    """Imports, newest first."""

    imports: list[ImportOut]


_BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "description": "One row a line, below the header. A SKU may come more than once.",
        "content": {
            "text/csv": {
                "schema": {"type": "string", "pattern": rf"^{HEADER}\r?\n"},
                "example": f"{HEADER}\r\nMUG,100\r\nTEA,250\r\n",
            }
        },
    }
}
_ERRORS: Final[dict[str, Any]] = {
    "description": "The lines at fault, as CSV in UTF-8",
    "content": {
        "text/csv": {
            "schema": {"type": "string"},
            "example": 'line,row,error\r\n7,MUG;3,"1 columns, not 2"\r\n',
        }
    },
}


def import_routes(runtime: Runtime[Any, InventorySettings]) -> APIRouter:
    """The routes of imports."""
    settings, db = runtime.settings, runtime.db
    feed = Feed(db, import_store.LOG, runtime.is_stopping, settings.stream_limit)
    streams = Streams(db, feed, settings.heartbeat)
    once = Once(db, f"POST {PATH}")
    router = APIRouter(prefix=PATH, tags=["imports"], responses=EVERYWHERE, lifespan=feed.lifespan)

    def find(tenant: str, import_id: str) -> Import:
        with db.connect() as conn:
            return _found(import_store.find(conn, tenant, import_id))

    def look(tenant: str, import_id: str) -> Shown:
        one = find(tenant, import_id)
        return shown(_told(one), ended=not one.is_open)

    reading = Reading(feed, look)

    def command(conn: Connection, name: str, import_id: str, tenant: str, data: Any) -> Any:
        return runtime.command(conn, api_event(name, import_id, data, tenant, tenant, uuid4()))

    def store(import_id: str, chunks: Iterable[Chunk]) -> None:
        for chunk in chunks:
            with db.begin() as conn:
                import_store.add_chunk(conn, import_id, chunk)

    def discard(import_id: str) -> None:
        with db.begin() as conn:
            import_store.discard(conn, [import_id])

    async def arrive(request: Request, import_id: str) -> Splitter:
        """Stores a file chunk by chunk while it arrives, in transactions of their own."""
        splitter = Splitter(settings.import_chunk)
        try:
            async for data in request.stream():
                await run_in_threadpool(store, import_id, splitter.feed(data))
            await run_in_threadpool(store, import_id, splitter.end())
        except NotAFile as error:
            wrong = [FieldError(field="body", message=str(error))]
            raise Problem(422, "invalid-request", f"The file: {error}.", wrong) from error
        except ClientDisconnect as error:
            raise Problem(422, "invalid-request", "The file did not arrive whole.") from error
        return splitter

    async def make(
        import_id: str, tenant: str, mode: str, file: Splitter, key: str | None
    ) -> Answer:
        size: dict[str, Any] = {"chunks": file.chunks, "lines": file.lines, "size": file.bytes_in}
        now = datetime.now(UTC)
        new = Import(import_id, tenant, mode, requested_at=now, updated_at=now, **size)

        def start(conn: Connection) -> Decision[Any]:
            if import_store.open_imports(conn, tenant) >= settings.open_imports:
                detail = f"{settings.open_imports} imports are under way already."
                raise Problem(429, "too-many-imports", detail, headers={"Retry-After": "5"})
            data = {"mode": mode, **size}
            decision: Decision[Any] = command(conn, "StartImport", import_id, tenant, data)
            return decision

        content = {"mode": mode, "sha256": file.fingerprint}
        first = Answer(202, _told(new).model_dump(mode="json"))
        answer, decision = await once.do(tenant, key, content, first, start)
        if decision:
            runtime.committed(decision)
        return answer

    @router.post(
        "",
        status_code=202,
        response_model=ImportOut,
        responses={
            202: accepted("Where the import can be followed"),
            **problem_responses(409, 415),
        },
        openapi_extra=_BODY,
    )
    async def receive(
        request: Request,
        response: Response,
        tenant: Tenant,
        mode: HowMuch = ALL,
        idempotency_key: IdempotencyKey = None,
    ) -> Any:
        """Takes a file. It is stored before this answers, and checked and applied meanwhile."""
        kind = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind != "text/csv":
            raise Problem(415, "unsupported-media-type", "The file must be text/csv.")
        import_id = f"{PREFIX}{secrets.token_hex(12)}"
        try:
            file = await arrive(request, import_id)
        except BaseException:
            await run_in_threadpool(discard, import_id)
            raise
        try:
            answer = await make(import_id, tenant, mode, file, idempotency_key)
        except Problem:  # refused: after any other error the import may be accepted all the same
            await run_in_threadpool(discard, import_id)
            raise
        if answer.replayed:
            await run_in_threadpool(discard, import_id)
        response.headers.update(answer.headers)
        return answer.body

    @router.get("")
    def list_imports(
        tenant: Tenant, limit: Annotated[int, Query(ge=1, le=500)] = 100
    ) -> ImportList:
        """The newest imports, newest first."""
        with db.connect() as conn:
            found = import_store.newest(conn, tenant, limit)
        return ImportList(imports=[_told(one) for one in found])

    @router.get(
        "/{import_id}",
        response_model=ImportOut,
        responses={200: TAGGED, 304: UNCHANGED, **problem_responses(404)},
    )
    async def read(
        request: Request,
        tenant: Tenant,
        import_id: ImportId,
        wait: Wait = 0,
        if_none_match: IfNoneMatch = None,
    ) -> Any:
        """The import and how far it is."""
        return await reading.answer(request, tenant, import_id, if_none_match, wait)

    @router.get(
        "/{import_id}/events",
        response_class=EventStream,
        responses={204: TOLD, **problem_responses(404)},
    )
    async def follow(
        tenant: Tenant, import_id: ImportId, last_event_id: LastEventId = None
    ) -> Response:
        """How far the import is, as server-sent events, until it ends."""
        one = await run_in_threadpool(find, tenant, import_id)
        now = import_store.LOG.now(tenant, import_id, import_store.progress(one))
        return await streams.of_one(now, last_event_id)

    @router.get(
        "/{import_id}/errors",
        response_class=StreamingResponse,
        responses={200: _ERRORS, **problem_responses(404)},
    )
    def errors(tenant: Tenant, import_id: ImportId) -> Response:
        """The lines at fault so far, each with what is wrong with it."""
        find(tenant, import_id)
        name = f'attachment; filename="{import_id}-errors.csv"'
        headers = {"Content-Disposition": name, "Cache-Control": "private"}
        return StreamingResponse(bad_rows(import_id), media_type="text/csv", headers=headers)

    def bad_rows(import_id: str) -> Iterator[bytes]:
        """Page by page, without a connection held while a client reads slowly."""
        yield _as_csv([("line", "row", "error")])
        last = 0
        while True:
            with db.connect() as conn:
                page = import_store.errors_after(conn, import_id, last, _BAD_ROWS)
            yield _as_csv((row.line, row.row, row.error) for row in page)
            if len(page) < _BAD_ROWS:
                return
            last = page[-1].line

    @router.delete("/{import_id}", status_code=202, responses=problem_responses(404, 409))
    def cancel(tenant: CancellingTenant, import_id: ImportId) -> ImportOut:
        """Applies nothing more: refused once it has ended otherwise; a repeat is fine."""
        with db.begin() as conn:
            _found(import_store.find(conn, tenant, import_id))
            command(conn, "CancelImport", import_id, tenant, {})
            one = _found(import_store.find(conn, tenant, import_id))
        if one.status != CANCELLED:
            raise Problem(409, "import-ended", f"The import has {one.status} already.")
        return _told(one)

    return router


def _as_csv(rows: Iterable[Iterable[Any]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def _found(one: Import | None) -> Import:
    if one is None:
        raise Problem(404, "not-found", "There is no such import.")
    return one


def _told(one: Import) -> ImportOut:
    url = f"{PATH}/{one.key}"
    own = {"import_id", "status_url", "errors_url"}
    return ImportOut(
        import_id=one.key,
        status_url=url,
        errors_url=f"{url}/errors",
        **{name: getattr(one, name) for name in ImportOut.model_fields if name not in own},
    )
