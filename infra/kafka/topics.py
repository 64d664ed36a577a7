"""The one list of topics, and the admin calls that make a broker agree with it."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from infra.local.errors import StackError
from infra.names import EMITTERS, dead_letter_topic, events_topic, heartbeat_topic

EVENT_PARTITIONS = 6

_FOR_EVER = "-1"
_HOUR_MS = 3_600_000
_TIMEOUT_S = 30


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as it should be; ``config`` holds only what differs from the broker's defaults."""

    name: str
    partitions: int
    config: Mapping[str, str]


def topics(event_partitions: int = EVENT_PARTITIONS) -> list[Topic]:
    """Every topic of the project. Connect makes its own three, Kafka its internal ones."""
    # Never compacted and kept for ever: a rebuilt read model needs every event of an order.
    events = {"cleanup.policy": "delete", "retention.ms": _FOR_EVER, "retention.bytes": _FOR_EVER}
    letters = {"cleanup.policy": "delete", "retention.ms": str(30 * 24 * _HOUR_MS)}
    heartbeats = {"cleanup.policy": "delete", "retention.ms": str(_HOUR_MS)}
    return [
        *(Topic(events_topic(name), event_partitions, events) for name in EMITTERS),
        *(Topic(dead_letter_topic(name), 1, letters) for name in EMITTERS),
        *(Topic(heartbeat_topic(name), 1, heartbeats) for name in EMITTERS),
    ]


def ensure(bootstrap: str, event_partitions: int = EVENT_PARTITIONS) -> str:
    """Creates missing topics and corrects their configuration; says what was done.

    A topic with another number of partitions is left alone and named: more partitions would send
    an order's later events elsewhere than its earlier ones. Raises `StackError`.
    """
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    wanted = topics(event_partitions)
    try:
        present = _partitions(admin)
        created = _create(admin, [topic for topic in wanted if topic.name not in present])
        known = [topic for topic in wanted if topic.name in present]
        corrected = _correct(admin, known)
    except KafkaException as error:
        raise StackError(
            f"the topics could not be made: {error.args[0].str()}", "Look at the broker's log."
        ) from error
    differing = [
        f"{topic.name} has {present[topic.name]} partitions, not {topic.partitions}"
        for topic in known
        if present[topic.name] != topic.partitions
    ]
    return ", ".join([_words(len(wanted), created, corrected), *differing])


def _words(total: int, created: int, corrected: int) -> str:
    done = [
        f"created {created}" if created else "",
        f"corrected {corrected}" if corrected else "",
    ]
    return ", ".join([f"{total} topics", *filter(None, done)])


def _partitions(admin: AdminClient) -> dict[str, int]:
    found = admin.list_topics(timeout=_TIMEOUT_S).topics
    return {name: len(topic.partitions) for name, topic in found.items()}


def _create(admin: AdminClient, missing: list[Topic]) -> int:
    if missing:
        new = [NewTopic(t.name, t.partitions, config=dict(t.config)) for t in missing]
        _results(admin.create_topics(new, request_timeout=_TIMEOUT_S), _exists_already)
    return len(missing)


def _correct(admin: AdminClient, known: list[Topic]) -> int:
    """Sets what differs; every other setting of a topic stays as it is."""
    resources = {ConfigResource(ResourceType.TOPIC, topic.name): topic for topic in known}
    if not resources:
        return 0
    described = admin.describe_configs(list(resources), request_timeout=_TIMEOUT_S)
    current = {resource.name: entries for resource, entries in _results(described).items()}
    changes = []
    for topic in known:
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
            for name, value in topic.config.items()
            if current[topic.name][name].value != value
        ]
        if entries:
            changes.append(
                ConfigResource(ResourceType.TOPIC, topic.name, incremental_configs=entries)
            )
    if changes:
        _results(admin.incremental_alter_configs(changes, request_timeout=_TIMEOUT_S))
    return len(changes)


def _exists_already(error: KafkaError) -> bool:
    # Two starts at once: the other one was first.
    return bool(error.code() == KafkaError.TOPIC_ALREADY_EXISTS)


def _results(
    futures: Mapping[Any, Future[Any]],
    harmless: Callable[[KafkaError], bool] = lambda _: False,
) -> dict[Any, Any]:
    results: dict[Any, Any] = {}
    for key, future in futures.items():
        try:
            results[key] = future.result()
        except KafkaException as error:
            if not harmless(error.args[0]):
                raise
    return results
