"""Reading an order's records from every topic, and producing records of one's own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from confluent_kafka import KafkaError, Message, Producer, TopicPartition

from infra.names import EMITTERS, dead_letter_topic, events_topic
from services.eventkit.codec import Codec
from services.eventkit.envelope import Envelope
from services.eventkit.schemas import Schemas
from services.orderctl.groups import read_groups
from services.orderctl.kafka import Record, as_record, bystander, partitions_of, watermarks
from services.orderctl.murmur2 import partition_of
from services.orderctl.settings import Settings
from tests.saga.support.wait import until

EVENT_TOPICS = tuple(events_topic(service) for service in EMITTERS)
ALL_TOPICS = (*EVENT_TOPICS, *(dead_letter_topic(service) for service in EMITTERS))
ACTOR = "tests"


@dataclass(frozen=True, slots=True)
class Read:
    """A record with its event decoded."""

    record: Record
    type: str
    data: Mapping[str, Any]

    @property
    def id(self) -> str:
        """The message id."""
        return self.record.headers["ce_id"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a produced record landed, and its message id."""

    message_id: str
    topic: str
    partition: int
    offset: int


class Topics:
    """Every topic of the running stack."""

    def __init__(self, settings: Settings) -> None:
        self._bootstrap = settings.kafka_bootstrap
        self._codec = Codec(Schemas.load(), settings.registry_url)
        self._producer = Producer(
            {"bootstrap.servers": self._bootstrap, "partitioner": "murmur2_random", "acks": "all"}
        )

    def of(self, key: str, topics: Sequence[str] = ALL_TOPICS) -> list[Read]:
        """All records of a key that are there now, topic by topic in their order."""
        raw = key.encode()
        return [self._decoded(record) for record in self._partition_of(raw, topics)]

    def types(self, key: str) -> list[str]:
        """The types of a key's events, sorted: topics have no common order."""
        return sorted(read.type for read in self.of(key, EVENT_TOPICS))

    def one(self, key: str, event_type: str) -> Read:
        """The only event of this type, waited for."""
        found = until(lambda: self._typed(key, event_type), f"{event_type} of {key}")
        assert len(found) == 1, f"{len(found)} {event_type} of {key}"
        return found[0]

    def produce(
        self, event_type: str, key: str, data: Mapping[str, Any], sequence: int = 1
    ) -> Place:
        """Produces an event as its service would have, under a fresh message id."""
        schema = Schemas.load()[event_type]
        envelope = self._envelope(event_type, key, sequence)
        value = self._codec.encode(event_type, data)
        return self._send(events_topic(schema.service), key.encode(), value, envelope)

    def produce_bytes(self, event_type: str, key: str, value: bytes | None) -> Place:
        """Produces any bytes under a valid envelope that says they are such an event."""
        schema = Schemas.load()[event_type]
        envelope = self._envelope(event_type, key, 1)
        return self._send(events_topic(schema.service), key.encode(), value, envelope)

    def again(self, read: Read, *, new_id: bool) -> Place:
        """Produces a record once more, byte for byte, with its own or a new message id."""
        headers = [(name, value.encode()) for name, value in read.record.headers.items()]
        envelope = Envelope.from_headers(headers)
        if new_id:
            envelope = replace(envelope, message_id=uuid4())
        assert read.record.key is not None
        return self._send(read.record.topic, read.record.key, read.record.value, envelope)

    def wait_read(self, place: Place, *groups: str) -> None:
        """Waits until these consumer groups have dealt with a record, whatever came of it."""

        def passed() -> bool:
            offsets = [
                lag.next_offset
                for group in read_groups(self._bootstrap, groups)
                for lag in group.lags
                if (lag.topic, lag.partition) == (place.topic, place.partition)
            ]
            return len(offsets) == len(groups) and min(offsets) > place.offset

        until(passed, f"{', '.join(groups)} to read {place}")

    def _envelope(self, event_type: str, key: str, sequence: int) -> Envelope:
        schema = Schemas.load()[event_type]
        return Envelope(
            message_id=uuid4(),
            event_type=event_type,
            source=f"/services/{schema.service}",
            time=datetime.now(UTC),
            subject=key,
            correlation_id=str(uuid4()),
            causation_id=None,
            sequence=sequence,
            schema_version=schema.version,
            tenant_id="demo",
            actor_id=ACTOR,
            traceparent=None,
        )

    def _typed(self, key: str, event_type: str) -> list[Read]:
        topics = (events_topic(Schemas.load()[event_type].service),)
        return [read for read in self.of(key, topics) if read.type == event_type]

    def _decoded(self, record: Record) -> Read:
        event_type = record.headers["ce_type"]
        return Read(record, event_type, self._codec.decode(event_type, record.value))

    def _partition_of(self, key: bytes, topics: Sequence[str]) -> list[Record]:
        consumer = bystander(self._bootstrap)
        try:
            parts = [p for p in partitions_of(consumer, topics) if _may_hold(key, p, consumer)]
            left: dict[tuple[str, int], int] = {}
            starts = []
            for part in parts:
                low, high = watermarks(consumer, part)
                if low < high:
                    left[part.topic, part.partition] = high
                    starts.append(TopicPartition(part.topic, part.partition, low))
            consumer.assign(starts)
            found: list[Record] = []
            while left:
                # It waits for so many or so long: what is there has come after a fraction of that.
                for message in consumer.consume(1000, timeout=0.1):
                    record = as_record(message)
                    if record.key == key:
                        found.append(record)
                    where = record.topic, record.partition
                    if where in left and record.offset + 1 >= left[where]:
                        del left[where]
            return sorted(found, key=lambda record: (record.topic, record.offset))
        finally:
            consumer.close()

    def _send(self, topic: str, key: bytes, value: bytes | None, envelope: Envelope) -> Place:
        places: list[Place] = []

        def delivered(error: KafkaError | None, message: Message) -> None:
            assert error is None, error
            partition, offset = message.partition(), message.offset()
            assert partition is not None and offset is not None
            places.append(Place(str(envelope.message_id), topic, partition, offset))

        headers: list[tuple[str, str | bytes | None]] = [*envelope.to_headers()]
        self._producer.produce(topic, key=key, value=value, headers=headers, on_delivery=delivered)
        self._producer.flush(10)
        (place,) = places
        return place


def _may_hold(key: bytes, part: TopicPartition, consumer: Any) -> bool:
    count = len(consumer.list_topics(part.topic, timeout=10).topics[part.topic].partitions)
    return part.partition == partition_of(key, count)
