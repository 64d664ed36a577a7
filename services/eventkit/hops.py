"""How long an event was under way: from its decision to its topic, and from there to a consumer.

The first hop is the outbox and its relay, told by the event's own time and the broker's; the second
is the topic, told by the broker's time and the consumer's clock.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache

from prometheus_client import Histogram

from services.eventkit import metrics
from services.eventkit.records import Message, Poison, RawRecord


def measure(records: Iterable[RawRecord], messages: Iterable[Message | Poison]) -> None:
    """Counts what was taken, and times both hops of what could be read."""
    metrics.count(metrics.TAKEN, ((record.topic,) for record in records))
    for message in messages:
        if isinstance(message, Message):
            relay, lay = _seconds(message.record, message.event.time)
            relay_seconds, topic_seconds = _of_topic(message.record.topic)
            if relay is not None:
                relay_seconds.observe(relay)
            if lay is not None:
                topic_seconds.observe(lay)


@cache
def _of_topic(topic: str) -> tuple[Histogram, Histogram]:
    return metrics.RELAY_SECONDS.labels(topic), metrics.TOPIC_SECONDS.labels(topic)


def attributes(record: RawRecord, decided: datetime) -> Mapping[str, float]:
    """Both hops for a span, in milliseconds; what nobody knows is left out."""
    relay, lay = _seconds(record, decided)
    told = {"saga.outbox_ms": relay, "saga.topic_ms": lay}
    return {name: round(value * 1000, 3) for name, value in told.items() if value is not None}


def _seconds(record: RawRecord, decided: datetime) -> tuple[float | None, float | None]:
    if record.published_at is None:
        return None, None
    relay = max(0.0, record.published_at - decided.timestamp())
    if record.taken_at is None:
        return relay, None
    return relay, max(0.0, record.taken_at - record.published_at)
