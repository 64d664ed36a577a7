"""Consumer groups: how far each has read, and how far that is behind."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from services.eventkit.positions import EVENTS, Unreachable, committed_offsets, described_groups
from services.orderctl.errors import NOT_ANSWERING, CliError

GROUPS = ("order", "inventory", "payment", "email", "analytics", "projector")
TIMEOUT = 10.0


@dataclass(frozen=True, slots=True)
class Lag:
    """One group on one partition: the next offset it reads, and where the partition ends."""

    group: str
    topic: str
    partition: int
    next_offset: int
    end_offset: int

    @property
    def events(self) -> int:
        """How many records are still to be read."""
        return max(0, self.end_offset - self.next_offset)


@dataclass(frozen=True, slots=True)
class Group:
    """A consumer group and its lags; without members nobody reads for it at the moment."""

    name: str
    members: int
    lags: tuple[Lag, ...]

    @property
    def events(self) -> int:
        """How many records are still to be read, over all partitions."""
        return sum(lag.events for lag in self.lags)


def read_groups(bootstrap: str, names: Sequence[str] = GROUPS) -> list[Group]:
    """The groups with their lag on every partition of every topic they have read from."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    try:
        return _read(admin, bootstrap, names)
    except (KafkaException, Unreachable) as error:
        raise CliError(
            f"the broker does not answer ({error})",
            "run make status to see what is down, make up to start it",
            code=NOT_ANSWERING,
        ) from error


def _read(admin: AdminClient, bootstrap: str, names: Sequence[str]) -> list[Group]:
    partitions = {
        name: len(topic.partitions)
        for name, topic in admin.list_topics(timeout=TIMEOUT).topics.items()
    }
    places = [(t, p) for t, n in partitions.items() if t.endswith(EVENTS) for p in range(n)]
    committed = {name: committed_offsets(bootstrap, name, places, TIMEOUT) for name in names}
    ends = _offsets(admin, committed.values(), partitions, OffsetSpec.latest())  # type: ignore[no-untyped-call]
    starts = _offsets(admin, committed.values(), partitions, OffsetSpec.earliest())  # type: ignore[no-untyped-call]
    members = _members(admin, names)
    groups = []
    for name in names:
        read = committed[name]
        topics = sorted({topic for topic, _ in read if topic in partitions})
        lags = [
            Lag(name, topic, p, read.get((topic, p), starts[topic, p]), ends[topic, p])
            for topic in topics
            for p in range(partitions[topic])
        ]
        groups.append(Group(name, members[name], tuple(lags)))
    return groups


def _offsets(
    admin: AdminClient,
    committed: Iterable[dict[tuple[str, int], int]],
    partitions: dict[str, int],
    spec: Any,
) -> dict[tuple[str, int], int]:
    topics = {topic for group in committed for topic, _ in group if topic in partitions}
    wanted = {TopicPartition(t, p): spec for t in topics for p in range(partitions[t])}
    if not wanted:
        return {}
    futures = admin.list_offsets(wanted, request_timeout=TIMEOUT)
    return {(part.topic, part.partition): f.result().offset for part, f in futures.items()}


def _members(admin: AdminClient, names: Sequence[str]) -> dict[str, int]:
    found = described_groups(admin, names, TIMEOUT)
    return {name: len(one.members) if one else 0 for name, one in found.items()}
