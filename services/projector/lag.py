"""How far the read model is behind the topics, in events and in seconds."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from confluent_kafka.admin import AdminClient
from prometheus_client import Gauge
from sqlalchemy.engine import Engine
from sqlalchemy.exc import SQLAlchemyError

from services.eventkit.positions import (
    EARLIEST,
    LATEST,
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
    """All partitions at one moment; ``seconds`` is the age of the oldest event not read yet."""

    measured_at: datetime
    seconds: float
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
    """Measures the lag on request, at most once in ``max_age`` seconds. Safe to share."""

    def __init__(
        self, engine: Engine, bootstrap: str, topics: Sequence[str], max_age: float = 1.0
    ) -> None:
        self._engine = engine
        self._topics = topics
        self._max_age = max_age
        self._bootstrap = bootstrap
        self._admin = admin_client(bootstrap)
        self._reader = Reader(bootstrap, "projector-lag")
        self._lock = threading.Lock()
        self._latest: Lag | Unreachable = Unreachable("not measured yet")
        self._measured = float("-inf")

    def latest(self) -> Lag:
        """The lag now, or as it was up to ``max_age`` ago; raises `Unreachable`."""
        with self._lock:
            if time.monotonic() - self._measured > self._max_age:
                self._latest = self._measure()
                self._measured = time.monotonic()
            if isinstance(self._latest, Unreachable):
                raise self._latest
            return self._latest

    def watch(self, every: float) -> None:
        """Measures for the metrics, for ever; what cannot be measured is no number."""
        while True:
            try:
                lag = self.latest()
                events, seconds = float(lag.events), lag.seconds
            except (Unreachable, SQLAlchemyError):
                events = seconds = float("nan")
            EVENTS.set(events)
            SECONDS.set(seconds)
            time.sleep(every)

    def _measure(self) -> Lag | Unreachable:
        try:
            partitions = behind(self._engine, self._admin, self._topics)
        except Unreachable as error:
            self._admin = anew(self._bootstrap)
            return error
        late = {(p.topic, p.partition): p.next_offset for p in partitions if p.events}
        return Lag(datetime.now(UTC), self._reader.oldest(late), partitions)
