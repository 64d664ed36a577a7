"""Reading ranges of offsets as a bystander: no group is joined, nothing is committed."""

import heapq
import time
from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition

from services.eventkit.positions import Place, Unreachable, client_config
from services.eventkit.records import RawRecord, headers_of

Ranges = Mapping[Place, range]
Timed = tuple[int, RawRecord]
"""When a record was written (Unix ms), and the record."""

_SILENCE = 60.0


def read(bootstrap: str, ranges: Ranges) -> Iterator[Timed]:
    """The records of these offsets, partition by partition in order.

    Raises `Unreachable` where the broker is silent for a minute, or has not got an offset: neither
    the first, nor all up to the last.
    """
    left = {place: offsets.stop for place, offsets in ranges.items() if offsets}
    consumer = Consumer(_config(bootstrap))
    try:
        consumer.assign([TopicPartition(*place, ranges[place].start) for place in sorted(left)])
        heard = time.monotonic()
        while left:
            first = consumer.poll(0.5)  # `consume` alone would wait for a thousand
            if first is not None:
                before = len(left)
                some = [_taken(message, left) for message in (first, *consumer.consume(999, 0))]
                records = [taken for taken in some if taken is not None]
                yield from records
                if records or len(left) < before:
                    heard = time.monotonic()  # what the caller took meanwhile is no silence
            if time.monotonic() - heard > _SILENCE:
                raise Unreachable(f"broker: nothing of {len(left)} partitions for {_SILENCE:.0f} s")
    finally:
        consumer.close()


def merged(bootstrap: str, ranges: Ranges) -> Iterator[Timed]:
    """The same in the order in which they were written, whatever their topic.

    So the events of an order come close together. Each partition has a consumer of its own.
    """
    feeds = [read(bootstrap, {place: offsets}) for place, offsets in sorted(ranges.items())]
    return heapq.merge(*feeds, key=itemgetter(0))


def _taken(message: Any, left: dict[Place, int]) -> Timed | None:
    """The record, if it is one that is wanted."""
    place = (message.topic(), message.partition())
    error = message.error()
    if error is not None:
        if error.code() == KafkaError._PARTITION_EOF:
            wanted = left.pop(place, 0)
            if message.offset() < wanted:
                raise Unreachable(
                    f"broker: {place[0]}/{place[1]} ends before offset {message.offset()}, and was "
                    f"read up to {wanted}: the log was cut, or the topic made anew"
                )
        elif error.code() == KafkaError._AUTO_OFFSET_RESET or error.fatal():
            raise Unreachable(f"broker: {error.str()}")
        return None
    offset = message.offset()
    stop = left.get(place, 0)
    if offset + 1 >= stop:
        left.pop(place, None)
    if offset >= stop:
        return None
    headers = headers_of(message)
    record = RawRecord(*place, offset, message.key(), message.value(), headers)
    return message.timestamp()[1], record


def _config(bootstrap: str) -> dict[str, Any]:
    return client_config(bootstrap) | {
        "group.id": "rebuild",  # needed by the client; it never joins nor commits
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
        "queued.max.messages.kbytes": 4096,
        "fetch.wait.max.ms": 100,
        "check.crcs": False,
    }
