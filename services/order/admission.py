"""Admission: new orders are refused while the system cannot keep up with those it has.

Two things are measured. At the broker: how many events the services that an order waits for have
still to read, and whether the oldest of these is older than it may be. A broker that does not
answer refuses nobody: an order is stored without it. And here: how long placing an order takes
(`pace`).
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, Final

from confluent_kafka.admin import AdminClient
from prometheus_client import Gauge

from services.eventkit import logs
from services.eventkit.access import REFUSED
from services.eventkit.background import background
from services.eventkit.http import Problem
from services.eventkit.positions import (
    LATEST,
    Place,
    Unreachable,
    admin_client,
    anew,
    event_places,
    log_offsets,
    reading_on,
    since,
)
from services.order.pace import Pace
from services.order.settings import OrderSettings

LOG = logs.logger("admission")
LAG: Final = Gauge(
    "saga_admission_lag_events",
    "Events that a service orders wait for has still to read",
    ["group"],
)
CLOSED: Final = Gauge("saga_admission_closed", "1 while every new order is refused as overload")
PACE: Final = Gauge(
    "saga_admission_pace_orders",
    "New orders a second that are let in while placing is slow; 0 for all",
)

_TIMEOUT = 5.0
_PATIENCE = 5.0
"""Seconds that a request waits for its turn: nobody gets one while the database hangs."""

Offsets = Mapping[Place, int]


class Admission:
    """Measures again and again, and says whether and when an order may be placed."""

    def __init__(self, settings: OrderSettings) -> None:
        self._settings = settings
        self._admin = admin_client(settings.kafka_bootstrap)
        self._why: str | None = None
        self._turns = asyncio.Semaphore(settings.admission_at_once)
        slower, quick = settings.admission_slower or math.inf, settings.admission_quick
        self._pace = Pace(slower, quick, time.monotonic())

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """One's turn to place an order. Raises `Problem` 503 while the system is overloaded.

        A few have theirs at the same moment: more of them would only be slower, each.
        """
        if self._why is not None:
            detail = f"The system is behind with the orders it has: {self._why}."
            raise _overloaded(detail, self._settings.admission_retry_after)
        came = time.monotonic()
        if not self._pace.lets_in(came):
            raise _overloaded("More orders are being placed than can be.")
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._turns.acquire()
        except TimeoutError:
            raise _overloaded("Placing orders takes too long.") from None
        try:
            if self._pace.is_too_late(time.monotonic() - came):
                raise _overloaded("More orders are being placed than can be.")
            yield
        finally:
            self._turns.release()
        now = time.monotonic()
        self._pace.placed(now - came, now)
        PACE.set(self._pace.rate or 0)

    @asynccontextmanager
    async def lifespan(self, _: Any) -> AsyncIterator[None]:
        """Measures for as long as the application runs."""
        if not self._settings.admission_max_lag:
            yield
            return
        async with background("admission", self._run):
            yield

    async def _run(self, thread: ThreadPoolExecutor) -> None:
        loop = asyncio.get_running_loop()
        while True:
            why = await loop.run_in_executor(thread, self._measured)
            if (why is None) != (self._why is None):
                LOG.warning("admission", closed=why is not None, why=why)
            self._why = why
            CLOSED.set(why is not None)
            await asyncio.sleep(self._settings.admission_look)

    def _measured(self) -> str | None:
        try:
            return self._too_much(self._admin)
        except Unreachable:
            self._admin = anew(self._settings.kafka_bootstrap)
            return None

    def _too_much(self, admin: AdminClient) -> str | None:
        """Why an order may not be placed, or None."""
        groups = self._settings.admission_groups
        places = event_places(admin, _TIMEOUT)
        read = reading_on(admin, self._settings.kafka_bootstrap, groups, places, _TIMEOUT)
        ends = log_offsets(admin, places, LATEST, _TIMEOUT)
        lags = {group: _lag(offsets, ends) for group, offsets in read.items()}
        for group, lag in lags.items():
            LAG.labels(group).set(lag)
        worst = max(lags, key=lambda group: lags[group], default=None)
        if worst is None or not lags[worst]:
            return None
        if lags[worst] > self._settings.admission_max_lag:
            return f"{worst} has {lags[worst]} events to read"
        return self._too_old(admin, read, ends)

    def _too_old(
        self, admin: AdminClient, read: Mapping[str, Offsets], ends: Offsets
    ) -> str | None:
        """Which group has not read an event that is older than it may be."""
        most = self._settings.admission_max_age
        oldest = int((time.time() - most) * 1000)
        behind = sorted(
            {
                place
                for offsets in read.values()
                for place, at in offsets.items()
                if at < ends[place]
            }
        )
        first_young = log_offsets(admin, behind, since(oldest), _TIMEOUT)
        for group, offsets in read.items():
            for place, at in offsets.items():
                young = first_young.get(place, 0)  # -1: nothing is as young as that
                if at < (ends[place] if young < 0 else young):
                    return f"{group} has left an event unread for {most:g} s"
        return None


def _overloaded(detail: str, seconds: int = 1) -> Problem:
    REFUSED.labels("overloaded").inc()
    return Problem(503, "overloaded", detail, headers={"Retry-After": str(seconds)})


def _lag(offsets: Offsets, ends: Offsets) -> int:
    return sum(max(0, ends[place] - at) for place, at in offsets.items())
