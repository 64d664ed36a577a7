"""The age of what nobody has read yet: the first record behind an offset tells it."""

import threading
import time
from collections.abc import Mapping

from confluent_kafka import Consumer, TopicPartition

from services.eventkit.positions import Place, client_config

_READ_TIMEOUT = 0.5
_REMEMBERED = 1000


class Reader:
    """Reads single records for their time; it belongs to no group and commits nothing."""

    def __init__(self, bootstrap: str, name: str) -> None:
        self._lock = threading.Lock()
        self._written: dict[tuple[Place, int], float] = {}
        self._consumer = Consumer(
            {
                **client_config(bootstrap),
                "group.id": name,  # needed by the client; it never joins nor commits
                "enable.auto.commit": False,
                "fetch.message.max.bytes": 4096,
                "fetch.wait.max.ms": 50,
            }
        )

    def oldest(self, unread: Mapping[Place, int]) -> float | None:
        """Seconds since the oldest of these records was written; 0 where there is none.

        ``unread`` has for each partition the offset of its first record that was not read. None
        where one of them did not come in time: it may be older than all the others.
        """
        if not unread:
            return 0.0
        with self._lock:
            if len(self._written) > _REMEMBERED:
                self._written.clear()
            self._read(
                {place: at for place, at in unread.items() if (place, at) not in self._written}
            )
            known = [self._written.get(record) for record in unread.items()]
        written = [when for when in known if when is not None]
        if len(written) < len(known):
            return None
        return round(max(0.0, time.time() - min(written)), 3)

    def _read(self, unread: Mapping[Place, int]) -> None:
        """Remembers when these were written: what stays unread is read once."""
        if not unread:
            return
        self._consumer.assign([TopicPartition(*place, at) for place, at in unread.items()])
        waiting = dict(unread)
        until = time.monotonic() + _READ_TIMEOUT
        while waiting and time.monotonic() < until:
            for message in self._consumer.consume(100, 0.05):
                topic, partition = message.topic(), message.partition()
                if message.error() or topic is None or partition is None:
                    continue
                place = (topic, partition)
                if (at := waiting.pop(place, None)) is not None:
                    self._written[place, at] = message.timestamp()[1] / 1000
        self._consumer.unassign()
