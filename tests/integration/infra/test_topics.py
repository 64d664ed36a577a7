"""The broker has exactly the topics of the one list, as the list says."""

from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from infra.kafka.topics import EVENT_PARTITIONS, ensure, topics
from infra.local.waiting import until
from infra.names import EMITTERS, events_topic
from tests.live_stack import Ground


@pytest.fixture(scope="module")
def bootstrap(ground: Ground) -> str:
    return ground.ports.address("kafka")


@pytest.fixture(scope="module")
def admin(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap})


def setting(admin: AdminClient, topic: str, name: str) -> str:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    (future,) = admin.describe_configs([resource]).values()
    return str(future.result()[name].value)


def set_retention(admin: AdminClient, topic: str, milliseconds: str) -> None:
    entry = ConfigEntry("retention.ms", milliseconds, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    for future in admin.incremental_alter_configs([resource]).values():
        future.result()
    wait_for_retention(admin, topic, milliseconds)


def wait_for_retention(admin: AdminClient, topic: str, milliseconds: str) -> None:
    """The broker tells of a change a moment after it has taken it."""
    until(lambda: setting(admin, topic, "retention.ms") == milliseconds, 10, f"{topic}'s retention")


@pytest.fixture
def short_retention(admin: AdminClient) -> Iterator[str]:
    """A topic whose events someone let expire."""
    set_retention(admin, "analytics.events", "604800000")
    yield "analytics.events"
    set_retention(admin, "analytics.events", "-1")


def test_every_topic_of_the_list_is_there(admin: AdminClient) -> None:
    found = admin.list_topics(timeout=10).topics
    for topic in topics():
        assert len(found[topic.name].partitions) == topic.partitions, topic.name


def test_a_topic_nobody_listed_does_not_appear(admin: AdminClient, bootstrap: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "message.timeout.ms": 2000})
    errors: list[KafkaError | None] = []
    producer.produce("ordr.events", b"misspelt", on_delivery=lambda error, _: errors.append(error))
    producer.flush(10)
    assert len(errors) == 1
    assert errors[0] is not None
    assert "ordr.events" not in admin.list_topics(timeout=10).topics


@pytest.mark.parametrize("name", [events_topic(service) for service in EMITTERS])
def test_events_are_kept_for_ever_and_never_compacted(admin: AdminClient, name: str) -> None:
    assert setting(admin, name, "retention.ms") == "-1"
    assert setting(admin, name, "retention.bytes") == "-1"
    assert setting(admin, name, "cleanup.policy") == "delete"


def test_c47_a_second_run_changes_nothing(bootstrap: str) -> None:
    assert ensure(bootstrap) == f"{len(topics())} topics"


def test_a_changed_retention_is_set_right(
    bootstrap: str, admin: AdminClient, short_retention: str
) -> None:
    assert ensure(bootstrap) == f"{len(topics())} topics, corrected 1"
    wait_for_retention(admin, short_retention, "-1")


def test_another_number_of_partitions_is_named_and_left_alone(
    bootstrap: str, admin: AdminClient
) -> None:
    words = ensure(bootstrap, event_partitions=EVENT_PARTITIONS + 2)
    assert "order.events has 6 partitions, not 8" in words
    assert len(admin.list_topics("order.events", timeout=10).topics["order.events"].partitions) == 6
