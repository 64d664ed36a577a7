"""One look at a table of changes for all who wait, however many: waiters hold no connection.

A single task looks ten times a second while anybody waits, and not at all while nobody does.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Final

import sqlalchemy as sa
from prometheus_client import Gauge
from sqlalchemy.exc import SQLAlchemyError

from services.eventkit import logs
from services.eventkit.background import background
from services.eventkit.changes import Change, ChangeLog
from services.eventkit.http import Problem

LOG = logs.logger("feed")
WAITING: Final = Gauge(
    "saga_waiting_clients", "Clients that wait in a stream or a long poll", ["how"]
)

_LOOK_EVERY = 0.1
_PAUSE = 1.0
_BACKLOG = 1000


class Waiter:
    """One who waits: the changes that have come for it and that it has not taken yet.

    ``closed`` once nothing more will come: the process stops, or it took too little too late.
    """

    def __init__(self) -> None:
        self._come: deque[Change] = deque()
        self._wake = asyncio.Event()
        self.closed = False

    def offer(self, change: Change) -> None:
        """Hands a change over; one who leaves too many lying is closed."""
        if len(self._come) >= _BACKLOG:
            self.close()
        else:
            self._come.append(change)
            self._wake.set()

    def close(self) -> None:
        """Nothing more will come."""
        self.closed = True
        self._wake.set()

    async def take(self, seconds: float) -> list[Change]:
        """What has come, waiting for it up to ``seconds``; nothing at the end of these."""
        if not self._come and not self.closed:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), seconds)
        self._wake.clear()
        taken = list(self._come)
        self._come.clear()
        return taken


class Feed:
    """Distributes new changes to those who wait, by key or by tenant."""

    def __init__(
        self, db: sa.Engine, log: ChangeLog, stopping: Callable[[], bool], most: int
    ) -> None:
        """``most`` is how many may wait for what one tenant has at once."""
        self.log = log
        self._db = db
        self._stopping = stopping
        self._most = most
        self._waiters: dict[tuple[str, str], set[Waiter]] = {}
        self._count: dict[str, int] = {}
        self._wanted = asyncio.Event()
        self._running = asyncio.Event()

    @asynccontextmanager
    async def lifespan(self, _: Any) -> AsyncIterator[None]:
        """Runs the task for as long as the application runs."""
        try:
            async with background("feed", self._run):
                yield
        finally:
            self._close_all()

    @asynccontextmanager
    async def wait_for(
        self, how: str, tenant_id: str, key: str | None = None
    ) -> AsyncIterator[Waiter]:
        """A waiter for the changes of one key, or for all of a tenant's.

        What is read from the database inside the block overlaps with what comes: nothing is missed
        in between.
        """
        place = ("key", key) if key else ("tenant", tenant_id)
        with self._counted(how, tenant_id):
            waiter = Waiter()
            self._waiters.setdefault(place, set()).add(waiter)
            self._wanted.set()
            try:
                await self._running.wait()
                yield waiter
            finally:
                waiters = self._waiters[place]
                waiters.discard(waiter)
                if not waiters:
                    del self._waiters[place]

    def check_room(self, tenant_id: str) -> None:
        """Raises `Problem` 429 where too many wait for what the tenant has already."""
        if self._count.get(tenant_id, 0) >= self._most:
            detail = f"{self._most} streams and long polls are open already."
            raise Problem(429, "too-many-streams", detail, headers={"Retry-After": "5"})

    @contextmanager
    def _counted(self, how: str, tenant_id: str) -> Iterator[None]:
        self._count[tenant_id] = self._count.get(tenant_id, 0) + 1
        try:
            with WAITING.labels(how).track_inprogress():
                yield
        finally:
            self._count[tenant_id] -= 1
            if not self._count[tenant_id]:
                del self._count[tenant_id]

    async def _run(self, thread: ThreadPoolExecutor) -> None:
        loop = asyncio.get_running_loop()
        place: int | None = None
        while True:
            if not self._waiters:
                place = None
                self._running.clear()
                self._wanted.clear()
                await self._wanted.wait()
            if self._stopping():
                self._running.set()
                self._close_all()
            try:
                place, found = await loop.run_in_executor(thread, self._look, place)
            except SQLAlchemyError as error:
                LOG.warning("database away, looking again soon", error=str(error)[:200])
                await asyncio.sleep(_PAUSE)
                continue
            self._running.set()
            for change in found:
                self._hand_out(change)
            await asyncio.sleep(_LOOK_EVERY)

    def _look(self, place: int | None) -> tuple[int, list[Change]]:
        """The changes that have become final since ``place``, and the place behind them."""
        with self._db.connect() as conn:
            now = self.log.horizon(conn)
            return now, self.log.between(conn, place, now) if place is not None else []

    def _hand_out(self, change: Change) -> None:
        for place in (("key", change.key), ("tenant", change.tenant_id)):
            for waiter in self._waiters.get(place, ()):
                waiter.offer(change)

    def _close_all(self) -> None:
        for waiters in self._waiters.values():
            for waiter in waiters:
                waiter.close()
