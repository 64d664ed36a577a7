"""Streams of server-sent events: one order until it ends, or all orders of a tenant.

Every event's id is a place in the table of changes. A client that comes back with ``Last-Event-ID``
gets what it missed, once and in order; where that cannot be told any more it gets ``resync`` and
the state as it is now.
"""

import json
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

import sqlalchemy as sa
from fastapi.responses import StreamingResponse
from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event
from starlette.concurrency import run_in_threadpool

from services.order import changes
from services.order.changes import Change, Place
from services.order.domain import Order
from services.order.feed import Feed

ORDER, RESYNC, END = "order", "resync", "end"
HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

_RETRY_MS = 2000
_REMEMBERED = 10_000
_MOST_OPEN = 1000
_BEGINNING = Place(0, 0)


class EventStream(StreamingResponse):
    """Server-sent events. FastAPI's own class would answer before it is known that all is well."""

    media_type = "text/event-stream"


class Streams:
    """Makes streams. ``heartbeat`` is how many seconds of silence there are at most."""

    def __init__(self, db: sa.Engine, feed: Feed, heartbeat: float) -> None:
        self._db = db
        self._feed = feed
        self._heartbeat = heartbeat

    def of_order(self, order: Order, last_event_id: str | None) -> EventStream:
        """An order's states, from the one it has now or from behind ``last_event_id``."""
        return _response(self._order(order, last_event_id))

    def of_tenant(self, tenant_id: str, last_event_id: str | None) -> EventStream:
        """The states that a tenant's orders take from now, or took since ``last_event_id``."""
        return _response(self._tenant(tenant_id, last_event_id))

    def missed_nothing(self, order: Order, last_event_id: str | None) -> bool:
        """Whether an ended order's client has been told everything there is."""
        place = Place.parse(last_event_id or "")
        if place is None or order.ended_at is None:
            return False
        with self._db.connect() as conn:
            return changes.of_order(conn, order.key, place) == []

    async def _order(self, order: Order, last_event_id: str | None) -> AsyncIterator[bytes]:
        async with self._feed.wait_for("order", order.tenant_id, order.key) as waiter:
            yield format_sse_event(retry=_RETRY_MS)
            lost, told = await run_in_threadpool(self._order_so_far, order, last_event_id)
            if lost:
                yield _resync(last_event_id)
            for change in told:
                yield _told(change)
            last = told[-1] if told else None
            while not waiter.closed and not (last and last.ended):
                come = await waiter.take(self._heartbeat)
                if not come:
                    yield KEEPALIVE_COMMENT
                for change in come:
                    if last is None or (change.place.seq > last.place.seq and not last.ended):
                        last = change
                        yield _told(change)
            if last and last.ended:
                yield _event(END, {"order_id": order.key, "status": last.state["status"]})

    async def _tenant(self, tenant_id: str, last_event_id: str | None) -> AsyncIterator[bytes]:
        sent = _Latest()
        async with self._feed.wait_for("tenant", tenant_id) as waiter:
            place, known = await run_in_threadpool(self._start, last_event_id)
            yield format_sse_event(retry=_RETRY_MS, id=str(place))
            if not known:
                yield _resync(last_event_id)
                for change in await run_in_threadpool(self._open, tenant_id):
                    sent.newer(change)
                    yield _event(ORDER, change.state)
            behind: Place | None = place
            while behind is not None:
                page = await run_in_threadpool(self._page, tenant_id, behind)
                for change in filter(sent.newer, page):
                    yield _told(change)
                behind = page[-1].place if len(page) == changes.PAGE else None
            while not waiter.closed:
                come = await waiter.take(self._heartbeat)
                if not come:
                    yield KEEPALIVE_COMMENT
                for change in filter(sent.newer, come):
                    yield _told(change)

    def _order_so_far(
        self, order: Order, last_event_id: str | None
    ) -> tuple[bool, Sequence[Change]]:
        """Whether the client's place is lost, and what to tell first."""
        place = Place.parse(last_event_id) if last_event_id else None
        with self._db.connect() as conn:
            missed = changes.of_order(conn, order.key, place) if place else None
            if missed is not None:
                return False, missed
            last = changes.last_of(conn, order.key)
        now = last or Change(_BEGINNING, order.tenant_id, order.key, changes.progress(order))
        return last_event_id is not None, [now]

    def _start(self, last_event_id: str | None) -> tuple[Place, bool]:
        """Where to begin, and whether that is where the client was: a new one begins now."""
        place = Place.parse(last_event_id) if last_event_id else None
        with self._db.connect() as conn:
            if place is not None and changes.known(conn, place):
                return place, True
            return Place(changes.horizon(conn), 0), last_event_id is None

    def _page(self, tenant_id: str, after: Place) -> list[Change]:
        with self._db.connect() as conn:
            return changes.of_tenant(conn, tenant_id, after)

    def _open(self, tenant_id: str) -> list[Change]:
        with self._db.connect() as conn:
            return changes.open_orders(conn, tenant_id, _MOST_OPEN)


class _Latest:
    """The newest change told of each order: an older one that comes late is left out."""

    def __init__(self) -> None:
        self._seqs: OrderedDict[str, int] = OrderedDict()

    def newer(self, change: Change) -> bool:
        """Whether it is newer than all before it of its order; it is remembered then."""
        if change.place.seq <= self._seqs.get(change.order_id, 0):
            return False
        self._seqs[change.order_id] = change.place.seq
        self._seqs.move_to_end(change.order_id)
        if len(self._seqs) > _REMEMBERED:
            self._seqs.popitem(last=False)
        return True


def _response(events: AsyncIterator[bytes]) -> EventStream:
    return EventStream(events, headers=HEADERS)


def _told(change: Change) -> bytes:
    return _event(ORDER, change.state, None if change.place == _BEGINNING else str(change.place))


def _resync(last_event_id: str | None) -> bytes:
    detail = "What came after it is not known any more."
    return _event(RESYNC, {"last_event_id": last_event_id, "detail": detail})


def _event(name: str, data: Any, place: str | None = None) -> bytes:
    return format_sse_event(event=name, data_str=json.dumps(data), id=place)
