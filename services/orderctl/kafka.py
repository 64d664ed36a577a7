"""Reading topics as a bystander: no consumer group, nothing committed."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import tenacity
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from services.eventkit.positions import Place, Unreachable
from services.eventkit.rebuild import feed
from services.eventkit.records import RawRecord, headers_of
from services.orderctl.errors import NOT_ANSWERING, CliError
from services.orderctl.failures import failed

REQUEST_TIMEOUT = 10.0
BROKER_AWAY = {KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE}
"""The client reports these and goes on trying by itself."""
LEADS_NOTHING = {KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE}
"""So says a broker that has just come back, or was too busy to say in time that it lives."""


@dataclass(frozen=True, slots=True)
class Record:
    """What is read of a record without decoding it; ``created_ms`` is when its row was written."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    headers: dict[str, str]
    value: bytes | None
    created_ms: int


def bystander(bootstrap: str) -> Consumer:
    """A consumer that is assigned partitions by hand and leaves no trace in the cluster."""
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "orderctl-bystander",  # required by the library; never joined or committed
            "enable.auto.commit": False,
            "enable.partition.eof": False,
            "auto.offset.reset": "error",
            "fetch.wait.max.ms": 100,
            "log_level": 0,
        }
    )


def partitions_of(consumer: Consumer, topics: Sequence[str]) -> list[TopicPartition]:
    """Every partition of these topics; CliError naming a topic that does not exist."""
    try:
        known = consumer.list_topics(timeout=REQUEST_TIMEOUT).topics
    except KafkaException as error:
        raise _away(error) from error
    if missing := [topic for topic in topics if topic not in known]:
        raise CliError(
            f"no such topic: {', '.join(missing)}", f"topics: {', '.join(sorted(known))}"
        )
    return [TopicPartition(topic, p) for topic in topics for p in sorted(known[topic].partitions)]


def watermarks(consumer: Consumer, part: TopicPartition) -> tuple[int, int]:
    """The first offset there is and the next one to be written."""
    try:
        return _watermarks(consumer, part)
    except KafkaException as error:
        raise _away(error) from error


def _passes(error: BaseException) -> bool:
    return isinstance(error, KafkaException) and error.args[0].code() in LEADS_NOTHING


@tenacity.retry(
    retry=tenacity.retry_if_exception(_passes),
    wait=tenacity.wait_fixed(0.5),
    stop=tenacity.stop_after_delay(REQUEST_TIMEOUT),
    reraise=True,
)
def _watermarks(consumer: Consumer, part: TopicPartition) -> tuple[int, int]:
    low, high = consumer.get_watermark_offsets(part, timeout=REQUEST_TIMEOUT)
    return low, high


def _away(error: KafkaException) -> CliError:
    return CliError(
        f"the broker does not answer ({error.args[0].str()})",
        "run make status to see what is down, make up to start it",
        code=NOT_ANSWERING,
    )


def assign_at_end(consumer: Consumer, topics: Sequence[str]) -> None:
    """Read what is written from now on; on return the starting offsets are fixed."""
    parts = partitions_of(consumer, topics)
    ends = [TopicPartition(p.topic, p.partition, watermarks(consumer, p)[1]) for p in parts]
    consumer.assign(ends)


def read_all(bootstrap: str, topics: Sequence[str]) -> Iterator[Record]:
    """Every record from the beginning up to the ends as they are now, once.

    CliError where the broker is silent for a minute, or the log was cut meanwhile.
    """
    try:
        for created_ms, record in feed.read(bootstrap, _logs(bootstrap, topics)):
            yield _plain(record, created_ms)
    except Unreachable as error:
        raise failed(error, "try again") from error


def _logs(bootstrap: str, topics: Sequence[str]) -> dict[Place, range]:
    """The offsets that there are now, by partition."""
    consumer = bystander(bootstrap)
    try:
        return {
            (part.topic, part.partition): range(*watermarks(consumer, part))
            for part in partitions_of(consumer, topics)
        }
    finally:
        consumer.close()


def records_of(messages: Iterable[Message]) -> Iterator[Record]:
    """The messages as plain values; CliError for an error that does not pass by itself."""
    for message in messages:
        error = message.error()
        if error is None:
            yield as_record(message)
        elif not error.retriable() and error.code() not in BROKER_AWAY:
            raise CliError(
                f"reading topics failed: {error.str()}", "make status shows what is down"
            )


def as_record(message: Message) -> Record:
    """The library's message as a plain value; it must not be an error event."""
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None and partition is not None and offset is not None
    return Record(
        topic=topic,
        partition=partition,
        offset=offset,
        key=_bytes(message.key()),
        headers=_texts(headers_of(message)),
        value=_bytes(message.value()),
        created_ms=message.timestamp()[1],
    )


def _plain(record: RawRecord, created_ms: int) -> Record:
    return Record(
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        key=record.key,
        headers=_texts(record.headers),
        value=record.value,
        created_ms=created_ms,
    )


def _texts(headers: Iterable[tuple[str, bytes | None]]) -> dict[str, str]:
    return {name: value.decode(errors="replace") for name, value in headers if value is not None}


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
