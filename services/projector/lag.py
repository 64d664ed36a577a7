"""How far the read model is behind the topics, in events and in seconds."""

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from confluent_kafka.admin import AdminClient
from prometheus_client import Gauge
from sqlalchemy.engine import Engine

from services.eventkit.positions import (
    EARLIEST,
    LATEST,
    TIMEOUT,
    Unreachable,
    admin_client,
    anew,
    log_offsets,
    places_of,
)
from services.eventkit.unread import Reader
from services.projector.stored import stored_offsets

EVENTS: Final = Gauge(
    "saga_read_model_lag_events", "Events on the topics that the read model has not taken in"
)
SECONDS: Final = Gauge("saga_read_model_lag_seconds", "Age of the oldest of these events")

_FIRST = TIMEOUT


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """One partition: where its log ends, and the next offset the read model will read."""

    topic: str
    partition: int
    end_offset: int
    next_offset: int

    @property
    def events(self) -> int:
        """How many events are not in the read model yet."""
        return max(0, self.end_offset - self.next_offset)


@dataclass(frozen=True, slots=True)
class Lag:
    """All partitions at one moment.

    ``seconds`` is the age of the oldest event not read yet; None where it could not be told.
    """

    measured_at: datetime
    seconds: float | None
    partitions: Sequence[PartitionLag]

    @property
    def events(self) -> int:
        """How many events are not in the read model yet."""
        return sum(partition.events for partition in self.partitions)


def behind(engine: Engine, admin: AdminClient, topics: Sequence[str]) -> list[PartitionLag]:
    """The lag of every partition; raises `Unreachable`."""
    places = places_of(admin, topics)
    stored = stored_offsets(engine)
    # Ends are asked after the stored offsets: the other way round, lag could be missed.
    ends = log_offsets(admin, places, LATEST)
    stored |= log_offsets(admin, [place for place in places if place not in stored], EARLIEST)
    return [PartitionLag(*place, ends[place], stored[place]) for place in places]


class LagMeter:
    """Measures the lag behind the backs of those who ask for it. Safe to share.

    They get the last measurement, and set off another where it is older than ``max_age`` seconds:
    nobody waits for a broker that is away.
    """

    def __init__(
        self, engine: Engine, bootstrap: str, topics: Sequence[str], max_age: float = 1.0
    ) -> None:
        self._engine = engine
        self._topics = topics
        self._max_age = max_age
        self._bootstrap = bootstrap
        self._admin = admin_client(bootstrap)
        self._reader = Reader(bootstrap, "projector-lag")
        self._turn = threading.Lock()  # held by the one who measures
        self._ever = threading.Event()
        self._latest: Lag | str = "not measured yet"
        self._measured = float("-inf")

    def latest(self, wait: float = _FIRST) -> Lag:
        """The lag as it was measured last; raises `Unreachable` where it could not be.

        Waits for the very first measurement only, and ``wait`` seconds at most.
        """
        old = time.monotonic() - self._measured > self._max_age
        if old and self._turn.acquire(blocking=False):
            threading.Thread(target=self._measure, name="lag-look", daemon=True).start()
        self._ever.wait(wait)
        latest = self._latest
        if isinstance(latest, str):
            raise Unreachable(latest)
        return latest

    def watch(self, every: float) -> None:
        """Measures for ever: what the others get then is at most as old as this."""
        while True:
            began = time.monotonic()
            self.measure()
            time.sleep(max(0.0, began + every - time.monotonic()))

    def measure(self) -> None:
        """Measures and sets the metrics; what cannot be measured is no number."""
        self._turn.acquire()
        self._measure()
        try:
            lag = self.latest()
            events, seconds = float(lag.events), lag.seconds
        except Unreachable:
            events, seconds = math.nan, None
        EVENTS.set(events)
        SECONDS.set(math.nan if seconds is None else seconds)

    def _measure(self) -> None:
        """Measures, and ends the turn, which was taken for it."""
        try:
            self._latest = self._look()
        except Unreachable as error:
            self._admin = anew(self._bootstrap)
            self._latest = str(error)
        finally:
            self._measured = time.monotonic()
            self._ever.set()
            self._turn.release()

    def _look(self) -> Lag:
        partitions = behind(self._engine, self._admin, self._topics)
        at = datetime.now(UTC)
        late = {(p.topic, p.partition): p.next_offset for p in partitions if p.events}
        return Lag(at, self._reader.oldest(late), partitions)
