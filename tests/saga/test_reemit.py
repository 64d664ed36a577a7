"""Publishing an event again: the same record, and no effect where it is known."""

from confluent_kafka import Message

from services.orderctl.kafka import bystander, partitions_of, watermarks
from services.orderctl.murmur2 import partition_of
from tests.saga.support.orderctl import orderctl, orderctl_json
from tests.saga.support.saga import Saga


def raw(saga: Saga, topic: str, key: str) -> list[Message]:
    """An order's records on a topic, as the library gives them."""
    consumer = bystander(saga.settings.kafka_bootstrap)
    try:
        found = []
        parts = partitions_of(consumer, [topic])
        part = parts[partition_of(key.encode(), len(parts))]
        part.offset, high = watermarks(consumer, part)
        consumer.assign([part])
        while part.offset < high:
            for message in consumer.consume(500, 0.1):
                part.offset = (message.offset() or 0) + 1
                if message.key() == key.encode():
                    found.append(message)
        return found
    finally:
        consumer.close()


def test_a_re_emitted_record_is_the_relays_byte_for_byte(saga: Saga) -> None:
    order_id = saga.place()
    # All of its events, so that none is published between the two looks.
    saga.wait_for(order_id, "OrderConfirmed", "EmailSent")
    for service in ("order", "inventory", "payment"):
        first = raw(saga, f"{service}.events", order_id)
        done = orderctl("reemit", "--service", service, "--order", order_id)
        assert done.returncode == 0, done.stderr
        again = raw(saga, f"{service}.events", order_id)[len(first) :]
        assert len(again) == len(first) > 0
        for relayed, sent in zip(first, again, strict=True):
            assert sent.headers() == relayed.headers()
            assert sent.value() == relayed.value()
            assert sent.timestamp() == relayed.timestamp()
            assert sent.partition() == relayed.partition()
    saga.verify()


def test_nothing_is_missing_while_the_relay_works(saga: Saga) -> None:
    saga.wait_for(saga.place(), "OrderConfirmed", "EmailSent")
    for service in ("order", "inventory", "payment", "email", "analytics"):
        assert orderctl_json("reemit", "-s", service, "--missing", "--dry-run")["events"] == []


def test_reemit_says_what_it_needs() -> None:
    done = orderctl("reemit", "--service", "order")
    assert done.returncode == 2 and "--missing" in done.stderr
    done = orderctl("reemit", "--service", "projector", "--missing")
    assert done.returncode == 2 and "emits no events" in done.stderr
