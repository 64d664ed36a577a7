"""Streams of server-sent events: one thing until it ends, or all that a tenant has.

Every event's id is a place in the table of changes. A client that comes back with ``Last-Event-ID``
gets what it missed, once and in order; where that cannot be told any more it gets ``resync`` and
the state as it is now.
"""

import json
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Annotated, Any, Final

import sqlalchemy as sa
from fastapi import Header
from fastapi.responses import Response, StreamingResponse
from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event
from sqlalchemy.engine import Connection
from starlette.concurrency import run_in_threadpool

from services.eventkit.changes import BEGINNING, PAGE, Change, Place
from services.eventkit.feed import Feed

LastEventId = Annotated[
    str | None,
    Header(
        alias="Last-Event-ID",
        max_length=64,
        description="The last event's id: what came after it is sent",
    ),
]
TOLD: Final = {"description": "It has ended, and this was the last of it: do not come back"}
RESYNC, END = "resync", "end"
HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

_RETRY_MS = 2000
_REMEMBERED = 10_000
_MOST_OPEN = 1000

Open = Callable[[Connection, str, int], list[Change]]
"""The states of what a tenant has open, up to so many."""


class EventStream(StreamingResponse):
    """Server-sent events. FastAPI's own class would answer before it is known that all is well."""

    media_type = "text/event-stream"


class Streams:
    """Makes streams; events bear the name of the kind of thing.

    ``heartbeat`` is how many seconds of silence there are at most.
    """

    def __init__(self, db: sa.Engine, feed: Feed, heartbeat: float) -> None:
        self._db = db
        self._feed = feed
        self._log = feed.log
        self._heartbeat = heartbeat

    async def of_one(self, now: Change, last_event_id: str | None) -> Response:
        """A thing's states, from the one it has now or from behind ``last_event_id``.

        204 for a client who knows it all. Raises `Problem` 429 where too many follow already.
        """
        if await run_in_threadpool(self._missed_nothing, now, last_event_id):
            return Response(status_code=204)
        self._feed.check_room(now.tenant_id)
        return _response(self._one(now, last_event_id))

    def of_tenant(self, tenant_id: str, last_event_id: str | None, opened: Open) -> EventStream:
        """The states that a tenant's things take from now, or took since ``last_event_id``.

        Raises `Problem` 429 where too many follow already.
        """
        self._feed.check_room(tenant_id)
        return _response(self._tenant(tenant_id, last_event_id, opened))

    def _missed_nothing(self, now: Change, last_event_id: str | None) -> bool:
        """Whether the client of something that has ended has been told everything there is."""
        place = Place.parse(last_event_id or "")
        if place is None or not now.ended:
            return False
        with self._db.connect() as conn:
            return self._log.of_key(conn, now.key, place) == []

    async def _one(self, now: Change, last_event_id: str | None) -> AsyncIterator[bytes]:
        async with self._feed.wait_for(self._log.name, now.tenant_id, now.key) as waiter:
            yield format_sse_event(retry=_RETRY_MS)
            lost, told = await run_in_threadpool(self._so_far, now, last_event_id)
            if lost:
                yield _resync(last_event_id)
            for change in told:
                yield self._told(change)
            last = told[-1] if told else None
            while not waiter.closed and not (last and last.ended):
                come = await waiter.take(self._heartbeat)
                if not come:
                    yield KEEPALIVE_COMMENT
                for change in come:
                    if last is None or (change.place.seq > last.place.seq and not last.ended):
                        last = change
                        yield self._told(change)
            if last and last.ended:
                yield _event(END, {self._log.id_name: now.key, "status": last.state["status"]})

    async def _tenant(
        self, tenant_id: str, last_event_id: str | None, opened: Open
    ) -> AsyncIterator[bytes]:
        sent = _Latest()
        async with self._feed.wait_for("tenant", tenant_id) as waiter:
            place, known = await run_in_threadpool(self._start, last_event_id)
            yield format_sse_event(retry=_RETRY_MS, id=str(place))
            if not known:
                yield _resync(last_event_id)
                for change in await run_in_threadpool(self._open, tenant_id, opened):
                    sent.newer(change)
                    yield _event(self._log.name, change.state)
            behind: Place | None = place
            while behind is not None:
                page = await run_in_threadpool(self._page, tenant_id, behind)
                for change in filter(sent.newer, page):
                    yield self._told(change)
                behind = page[-1].place if len(page) == PAGE else None
            while not waiter.closed:
                come = await waiter.take(self._heartbeat)
                if not come:
                    yield KEEPALIVE_COMMENT
                for change in filter(sent.newer, come):
                    yield self._told(change)

    def _so_far(self, now: Change, last_event_id: str | None) -> tuple[bool, Sequence[Change]]:
        """Whether the client's place is lost, and what to tell first."""
        place = Place.parse(last_event_id) if last_event_id else None
        with self._db.connect() as conn:
            missed = self._log.of_key(conn, now.key, place) if place else None
            if missed is not None:
                return False, missed
            last = self._log.last_of(conn, now.key)
        return last_event_id is not None, [last or now]

    def _start(self, last_event_id: str | None) -> tuple[Place, bool]:
        """Where to begin, and whether that is where the client was: a new one begins now."""
        place = Place.parse(last_event_id) if last_event_id else None
        with self._db.connect() as conn:
            if place is not None and self._log.known(conn, place):
                return place, True
            return Place(self._log.horizon(conn), 0), last_event_id is None

    def _page(self, tenant_id: str, after: Place) -> list[Change]:
        with self._db.connect() as conn:
            return self._log.of_tenant(conn, tenant_id, after)

    def _open(self, tenant_id: str, opened: Open) -> list[Change]:
        with self._db.connect() as conn:
            return opened(conn, tenant_id, _MOST_OPEN)

    def _told(self, change: Change) -> bytes:
        place = None if change.place == BEGINNING else str(change.place)
        return _event(self._log.name, change.state, place)


class _Latest:
    """The newest change told of each thing: an older one that comes late is left out."""

    def __init__(self) -> None:
        self._seqs: OrderedDict[str, int] = OrderedDict()

    def newer(self, change: Change) -> bool:
        """Whether it is newer than all before it of its key; it is remembered then."""
        if change.place.seq <= self._seqs.get(change.key, 0):
            return False
        self._seqs[change.key] = change.place.seq
        self._seqs.move_to_end(change.key)
        if len(self._seqs) > _REMEMBERED:
            self._seqs.popitem(last=False)
        return True


def _response(events: AsyncIterator[bytes]) -> EventStream:
    return EventStream(events, headers=HEADERS)


def _resync(last_event_id: str | None) -> bytes:
    detail = "What came after it is not known any more."
    return _event(RESYNC, {"last_event_id": last_event_id, "detail": detail})


def _event(name: str, data: Any, place: str | None = None) -> bytes:
    return format_sse_event(event=name, data_str=json.dumps(data), id=place)
