"""What connect-guardian measures of consumer groups, against the real broker."""

from uuid import uuid4

import pytest
from confluent_kafka import Consumer, TopicPartition
from prometheus_client import REGISTRY

from infra.connect import readers
from infra.connect.readers import Readers
from infra.names import SERVICES
from services.eventkit import positions
from services.eventkit.positions import client_config
from tests.live_stack import LiveStack


def told(name: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(name, labels)


@pytest.fixture
def bootstrap(stack: LiveStack) -> str:
    return stack.ports.address("kafka")


def test_a_group_that_nobody_reads_for_has_a_lag_an_age_and_no_member(
    bootstrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    group, topic = f"nobody-{uuid4().hex[:8]}", "analytics.dlq"
    monkeypatch.setattr(readers, "GROUPS", (group,))
    monkeypatch.setattr("services.eventkit.positions.EVENTS", ".dlq")
    consumer = Consumer(client_config(bootstrap) | {"group.id": group})
    end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)[1]
    consumer.commit(offsets=[TopicPartition(topic, 0, end)], asynchronous=False)
    looking = Readers(bootstrap)
    looking.look()
    assert told("saga_consumer_members", group=group) == 0
    assert told("saga_consumer_lag_events", group=group, topic=topic, partition="0") == 0
    assert told("saga_consumer_unread_seconds", group=group) == 0
    consumer.close()


def test_a_group_that_nobody_ever_joined_has_no_member(
    bootstrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = f"unheard-of-{uuid4().hex[:8]}"
    monkeypatch.setattr(readers, "GROUPS", (group,))
    Readers(bootstrap).look()
    assert told("saga_broker_answers") == 1
    assert told("saga_consumer_members", group=group) == 0


def test_a_broker_that_does_not_answer_leaves_no_old_numbers(bootstrap: str) -> None:
    Readers(bootstrap).look()
    assert told("saga_broker_answers") == 1
    assert {group for group in SERVICES if told("saga_consumer_members", group=group)}
    Readers("127.0.0.1:1").look()
    assert told("saga_broker_answers") == 0
    assert not [group for group in SERVICES if told("saga_consumer_members", group=group)]


def test_a_group_that_never_committed_has_all_of_its_topics_to_read(
    bootstrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = f"never-{uuid4().hex[:8]}"
    monkeypatch.setattr(readers, "GROUPS", (group,))
    monkeypatch.setattr(positions, "topics_read", lambda _: {"order.events"})
    Readers(bootstrap).look()
    consumer = Consumer(client_config(bootstrap) | {"group.id": group})
    for partition in range(6):
        low, high = consumer.get_watermark_offsets(TopicPartition("order.events", partition))
        labels = {"group": group, "topic": "order.events", "partition": str(partition)}
        assert told("saga_consumer_lag_events", **labels) == high - low
    consumer.close()
