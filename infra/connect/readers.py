"""How far every consumer group is behind, measured from outside: one that is dead says nothing.

Kept by `connect-guardian`, which looks after what is between the services. One look asks the broker
a few times for all groups together, and reads single records only of partitions with a lag.
"""

import math
import threading
from collections.abc import Mapping
from typing import Final

from confluent_kafka import KafkaException
from prometheus_client import Gauge

from infra.names import SERVICES
from services.eventkit import logs
from services.eventkit.positions import (
    LATEST,
    Place,
    Unreachable,
    admin_client,
    anew,
    event_places,
    log_offsets,
    member_counts,
    reading_on,
)
from services.eventkit.unread import Reader

LOG = logs.logger("readers")
LOOK_SECONDS = 5.0
GROUPS: Final = SERVICES
_TIMEOUT = 5.0

BROKER: Final = Gauge("saga_broker_answers", "1 while the broker answers")
MEMBERS: Final = Gauge(
    "saga_consumer_members", "Members of a consumer group: with none, nobody reads", ["group"]
)
LAG: Final = Gauge(
    "saga_consumer_lag_events",
    "Records on a partition that a consumer group has not committed; all where it never did",
    ["group", "topic", "partition"],
)
UNREAD: Final = Gauge(
    "saga_consumer_unread_seconds",
    "Age of the oldest record that a consumer group has not committed; NaN where it is unknown",
    ["group"],
)
NEXT: Final = Gauge(
    "saga_consumer_next_offset",
    "Where a consumer group reads on, summed over partitions: its rate is what is read",
    ["group", "topic"],
)
END: Final = Gauge(
    "saga_topic_end_offset",
    "Where a topic ends, summed over partitions: its rate is what is published",
    ["topic"],
)

Offsets = Mapping[Place, int]


class Readers:
    """Looks at the consumer groups again and again and sets their metrics."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._admin = admin_client(bootstrap)
        self._reader = Reader(bootstrap, "guardian-lag")

    def run(self, stop: threading.Event) -> None:
        """Looks until ``stop`` is set."""
        while not stop.is_set():
            self.look()
            stop.wait(LOOK_SECONDS)

    def look(self) -> None:
        """One look; a broker that does not answer leaves no old numbers behind."""
        try:
            places = event_places(self._admin, _TIMEOUT)
            read = reading_on(self._admin, self._bootstrap, GROUPS, places, _TIMEOUT)
            ends = log_offsets(self._admin, places, LATEST, _TIMEOUT)
            members = member_counts(self._admin, GROUPS, _TIMEOUT)
        except (Unreachable, KafkaException) as error:
            self._admin = anew(self._bootstrap)
            BROKER.set(0)
            for gauge in (MEMBERS, LAG, UNREAD, NEXT, END):
                gauge.clear()
            LOG.warning("broker away", error=str(error)[:200])
            return
        BROKER.set(1)
        for topic, end in _by_topic(ends).items():
            END.labels(topic).set(end)
        for group, offsets in read.items():
            MEMBERS.labels(group).set(members[group])
            self._tell(group, offsets, ends)

    def _tell(self, group: str, offsets: Offsets, ends: Offsets) -> None:
        unread = {}
        for (topic, partition), at in offsets.items():
            lag = max(0, ends[topic, partition] - at)
            LAG.labels(group, topic, str(partition)).set(lag)
            if lag:
                unread[topic, partition] = at
        for topic, at in _by_topic(offsets).items():
            NEXT.labels(group, topic).set(at)
        age = self._reader.oldest(unread)
        UNREAD.labels(group).set(math.nan if age is None else age)


def _by_topic(offsets: Offsets) -> dict[str, int]:
    sums: dict[str, int] = {}
    for (topic, _), at in offsets.items():
        sums[topic] = sums.get(topic, 0) + at
    return sums
