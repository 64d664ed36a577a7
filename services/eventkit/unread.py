"""The age of what nobody has read yet: the first record behind an offset tells it."""

import threading
import time
from collections.abc import Mapping

from confluent_kafka import Consumer, TopicPartition

from services.eventkit.positions import Place, client_config

_READ_TIMEOUT = 0.5


class Reader:
    """Reads single records for their time; it belongs to no group and commits nothing."""

    def __init__(self, bootstrap: str, name: str) -> None:
        self._lock = threading.Lock()
        self._consumer = Consumer(
            {
                **client_config(bootstrap),
                "group.id": name,  # needed by the client; it never joins nor commits
                "enable.auto.commit": False,
                "fetch.message.max.bytes": 4096,
                "fetch.wait.max.ms": 50,
            }
        )

    def oldest(self, unread: Mapping[Place, int]) -> float:
        """Seconds since the oldest of these records was written; 0 where there is none.

        ``unread`` has for each partition the offset of its first record that was not read. What
        does not come in time is not counted.
        """
        if not unread:
            return 0.0
        with self._lock:
            return self._oldest(unread)

    def _oldest(self, unread: Mapping[Place, int]) -> float:
        self._consumer.assign([TopicPartition(*place, at) for place, at in unread.items()])
        waiting = set(unread)
        oldest = now = time.time()
        until = time.monotonic() + _READ_TIMEOUT
        while waiting and time.monotonic() < until:
            for message in self._consumer.consume(100, 0.05):
                topic, partition = message.topic(), message.partition()
                if message.error() or topic is None or partition is None:
                    continue
                if (topic, partition) in waiting:
                    waiting.discard((topic, partition))
                    oldest = min(oldest, message.timestamp()[1] / 1000)
        self._consumer.unassign()
        return round(max(0.0, now - oldest), 3)
