"""Consumer groups: how far each has read, and how far that is behind."""

from collections.abc import Sequence
from dataclasses import dataclass

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from services.eventkit.positions import (
    LATEST,
    Unreachable,
    admin_client,
    event_places,
    log_offsets,
    member_counts,
    reading_on,
)
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
    """The groups with their lag on every partition of every topic that they read."""
    admin = admin_client(bootstrap)
    try:
        return _read(admin, bootstrap, names)
    except (KafkaException, Unreachable) as error:
        raise CliError(
            f"the broker does not answer ({error})",
            "run make status to see what is down, make up to start it",
            code=NOT_ANSWERING,
        ) from error


def _read(admin: AdminClient, bootstrap: str, names: Sequence[str]) -> list[Group]:
    places = event_places(admin, TIMEOUT)
    read = reading_on(admin, bootstrap, names, places, TIMEOUT)
    ends = log_offsets(admin, places, LATEST, TIMEOUT)
    members = member_counts(admin, names, TIMEOUT)
    return [
        Group(
            name,
            members[name],
            tuple(Lag(name, *place, at, ends[place]) for place, at in sorted(read[name].items())),
        )
        for name in names
    ]
