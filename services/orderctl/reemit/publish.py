"""Producing records to the topics they belong on."""

from collections.abc import Callable, Iterable

from confluent_kafka import KafkaError, Message, Producer

from services.orderctl.errors import NOT_ANSWERING, CliError
from services.orderctl.reemit.record import Outgoing

SECONDS = 30.0
Delivered = Callable[[KafkaError | None, Message], None]


def publish(bootstrap: str, records: Iterable[Outgoing]) -> int:
    """Produces the records in order and waits for the broker; how many. Raises `CliError`.

    The partitioner is the one Debezium uses: each key lands where it has always been.
    """
    failures: list[str] = []

    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failures.append(error.str())

    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "client.id": "orderctl-reemit",
            "partitioner": "murmur2_random",
            "enable.idempotence": True,
            "message.timeout.ms": int(SECONDS * 1000),
            "log_level": 0,
        }
    )
    count = 0
    for record in records:
        _produce(producer, record, delivered)
        count += 1
    left = producer.flush(SECONDS + 5)
    if left or failures:
        because = failures[0] if failures else "no answer"
        raise CliError(
            f"the broker did not take {max(left, len(failures))} of {count} records: {because}",
            "run it again: what has arrived is not sent twice with --missing",
            code=NOT_ANSWERING,
        )
    return count


def _produce(producer: Producer, record: Outgoing, delivered: Delivered) -> None:
    while True:
        try:
            producer.produce(
                record.topic,
                value=record.value,
                key=record.key,
                headers=list(record.headers),
                timestamp=record.timestamp_ms,
                on_delivery=delivered,
            )
            producer.poll(0)
            return
        except BufferError:
            producer.poll(0.5)  # the queue is full: let some of it go first
