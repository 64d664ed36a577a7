"""How long an event was under way: from its decision to its topic, and from there to a consumer.

The first hop is the outbox and its relay, told by the event's own time and the broker's; the second
is the topic, told by the broker's time and the consumer's clock.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime

from services.eventkit import metrics
from services.eventkit.records import Message, Poison, RawRecord


def measure(records: Iterable[RawRecord], messages: Iterable[Message | Poison]) -> None:
    """Counts what was taken, and times both hops of what could be read."""
    for topic, taken in Counter(record.topic for record in records).items():
        metrics.TAKEN.labels(topic).inc(taken)
    for message in messages:
        if isinstance(message, Message):
            relay, lay = _seconds(message.record, message.event.time)
            if relay is not None:
                metrics.RELAY_SECONDS.labels(message.record.topic).observe(relay)
            if lay is not None:
                metrics.TOPIC_SECONDS.labels(message.record.topic).observe(lay)


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
