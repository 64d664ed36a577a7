"""How far the read model is behind the topics, in events and in seconds."""

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]
from sqlalchemy.engine import Engine
from sqlalchemy.exc import SQLAlchemyError

from services.projector.tables import projection_offsets

Place = tuple[str, int]
Offsets = Mapping[Place, int]

EARLIEST: Any = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
LATEST: Any = OffsetSpec.latest()  # type: ignore[no-untyped-call]

_TIMEOUT = 3.0
_READ_TIMEOUT = 0.5


class LagUnknown(Exception):
    """The broker or the database did not answer; the text says which and why."""


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


def admin_client(bootstrap: str) -> AdminClient:
    """A client for the look-ups of this module, quiet about a broker that is away."""
    config: dict[str, Any] = {"bootstrap.servers": bootstrap, "log_level": 0, "error_cb": _ignore}
    return AdminClient(config)


def places_of(admin: AdminClient, topics: Iterable[str]) -> list[Place]:
    """Every partition of the topics; raises `LagUnknown` for a topic that does not exist."""
    known = _ask(lambda: admin.list_topics(timeout=_TIMEOUT).topics)
    missing = sorted(set(topics) - set(known))
    if missing:
        raise LagUnknown(f"no topic {', '.join(missing)}")
    return [(topic, number) for topic in topics for number in sorted(known[topic].partitions)]


def log_offsets(admin: AdminClient, places: Iterable[Place], spec: Any) -> dict[Place, int]:
    """The offsets that ``spec`` (`EARLIEST`, `LATEST`) names."""
    wanted = {TopicPartition(topic, number): spec for topic, number in places}
    if not wanted:
        return {}
    asked: dict[TopicPartition, Future[Any]] = admin.list_offsets(wanted, request_timeout=_TIMEOUT)
    return {
        (place.topic, place.partition): _ask(lambda a=answer: a.result(_TIMEOUT).offset)
        for place, answer in asked.items()
    }


def stored_offsets(engine: Engine) -> dict[Place, int]:
    """The next offsets as the last committed batches stored them."""
    query = sa.select(projection_offsets)
    with engine.connect() as conn:
        return {(row.topic, row.partition): row.next_offset for row in conn.execute(query)}


def behind(engine: Engine, admin: AdminClient, topics: Sequence[str]) -> list[PartitionLag]:
    """The lag of every partition; raises `LagUnknown`."""
    places = places_of(admin, topics)
    ends = log_offsets(admin, places, LATEST)
    try:
        stored = stored_offsets(engine)
    except SQLAlchemyError as error:
        raise LagUnknown(f"database: {str(error).splitlines()[0]}") from error
    unread = [place for place in places if place not in stored]
    stored |= log_offsets(admin, unread, EARLIEST)
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
        self._latest: Lag | LagUnknown = LagUnknown("not measured yet")
        self._measured = float("-inf")

    def latest(self) -> Lag:
        """The lag now, or as it was up to ``max_age`` ago; raises `LagUnknown`."""
        with self._lock:
            if time.monotonic() - self._measured > self._max_age:
                self._latest = self._measure()
                self._measured = time.monotonic()
            if isinstance(self._latest, LagUnknown):
                raise self._latest
            return self._latest

    def _measure(self) -> Lag | LagUnknown:
        try:
            partitions = behind(self._engine, self._admin, self._topics)
        except LagUnknown as error:
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
            "bootstrap.servers": bootstrap,
            "group.id": "projector-lag",  # needed by the client; it never joins nor commits
            "enable.auto.commit": False,
            "fetch.message.max.bytes": 4096,
            "fetch.wait.max.ms": 50,
            "log_level": 0,
            "error_cb": _ignore,
        }
    )


def _ask(question: Any) -> Any:
    try:
        return question()
    except (KafkaException, TimeoutError) as error:
        raise LagUnknown(f"broker: {error}") from error


def _ignore(_: object) -> None:
    """Connection errors come back from the calls themselves."""
