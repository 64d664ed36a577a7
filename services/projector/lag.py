"""How far the read model is behind the topics, in events and in seconds."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from sqlalchemy.engine import Engine

from services.eventkit.positions import (
    EARLIEST,
    LATEST,
    Unreachable,
    admin_client,
    client_config,
    log_offsets,
    places_of,
)
from services.projector.stored import stored_offsets

_READ_TIMEOUT = 0.5


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
        self._admin = admin_client(bootstrap)
        self._reader = _reader(bootstrap)
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

    def _measure(self) -> Lag | Unreachable:
        try:
            partitions = behind(self._engine, self._admin, self._topics)
        except Unreachable as error:
            return error
        return Lag(datetime.now(UTC), self._age([p for p in partitions if p.events]), partitions)

    def _age(self, late: Sequence[PartitionLag]) -> float:
        """Reads the first event of each late partition that the model lacks, for its time."""
        if not late:
            return 0.0
        self._reader.assign([TopicPartition(p.topic, p.partition, p.next_offset) for p in late])
        waiting = {(p.topic, p.partition) for p in late}
        oldest = now = time.time()
        until = time.monotonic() + _READ_TIMEOUT
        while waiting and time.monotonic() < until:
            for message in self._reader.consume(100, 0.05):
                place = (message.topic(), message.partition())
                if message.error() is None and place in waiting:
                    waiting.discard(place)
                    oldest = min(oldest, message.timestamp()[1] / 1000)
        self._reader.unassign()
        return round(now - oldest, 3)


def _reader(bootstrap: str) -> Consumer:
    return Consumer(
        {
            **client_config(bootstrap),
            "group.id": "projector-lag",  # needed by the client; it never joins nor commits
            "enable.auto.commit": False,
            "fetch.message.max.bytes": 4096,
            "fetch.wait.max.ms": 50,
        }
    )
