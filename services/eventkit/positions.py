"""Where the logs of topics begin and end."""

from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import Future
from functools import cache
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConsumerGroupDescription, OffsetSpec

from services.eventkit.subscriptions import topics_read

Place = tuple[str, int]
"""A topic and the number of a partition of it."""

EARLIEST: Any = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
LATEST: Any = OffsetSpec.latest()  # type: ignore[no-untyped-call]
TIMEOUT = 3.0
EVENTS: Final = ".events"
"""How the name of every topic of events ends."""


def since(unix_ms: int) -> Any:
    """The first offset of what was written at a time or later; -1 where nothing was.

    To Kafka a time before 1970 is no time: -1 means the end of the log.
    """
    return OffsetSpec.for_timestamp(max(0, unix_ms))


class Unreachable(Exception):
    """The broker or the database did not answer; the text says which and why."""


def client_config(bootstrap: str) -> dict[str, Any]:
    """Client settings that leave errors to the calls: a broker that is away fills no log."""
    return {"bootstrap.servers": bootstrap, "log_level": 0, "error_cb": lambda _: None}


def admin_client(bootstrap: str) -> AdminClient:
    """A client for the look-ups of this module."""
    return AdminClient(client_config(bootstrap))


def places_of(admin: AdminClient, topics: Iterable[str], timeout: float = TIMEOUT) -> list[Place]:
    """Every partition of the topics; raises `Unreachable`, also where one does not exist."""
    wanted = list(topics)
    known = ask(lambda: admin.list_topics(timeout=timeout).topics)
    missing = sorted(set(wanted) - set(known))
    if missing:
        raise Unreachable(f"broker: no topic {', '.join(missing)}")
    return [(topic, number) for topic in wanted for number in sorted(known[topic].partitions)]


def log_offsets(
    admin: AdminClient, places: Iterable[Place], spec: Any, timeout: float = TIMEOUT
) -> dict[Place, int]:
    """The offsets that ``spec`` (`EARLIEST`, `LATEST`) names; raises `Unreachable`."""
    wanted = {TopicPartition(topic, number): spec for topic, number in places}
    if not wanted:
        return {}
    asked: dict[TopicPartition, Future[Any]] = admin.list_offsets(wanted, request_timeout=timeout)
    return {
        (place.topic, place.partition): ask(answer.result).offset for place, answer in asked.items()
    }


def event_places(admin: AdminClient, timeout: float = TIMEOUT) -> list[Place]:
    """Every partition of every events topic; raises `Unreachable`."""
    known = ask(lambda: admin.list_topics(timeout=timeout).topics)
    return places_of(admin, sorted(name for name in known if name.endswith(EVENTS)), timeout)


def committed_offsets(
    bootstrap: str, group: str, places: Iterable[Place], timeout: float = TIMEOUT
) -> dict[Place, int]:
    """The next offsets that a consumer group has committed of these; raises `Unreachable`.

    Asked by a consumer that never joins: the admin client's call for it ends the whole process when
    the group's coordinator is not there yet (librdkafka 2.16.1, a null pointer on NOT_COORDINATOR).
    """
    wanted = [TopicPartition(*place) for place in places]
    parts = ask(lambda: _asker(bootstrap, group).committed(wanted, timeout=timeout))
    for part in parts:
        if part.error is not None:
            raise Unreachable(f"broker: {part.error}")
    return {(part.topic, part.partition): part.offset for part in parts if part.offset >= 0}


def reading_on(
    admin: AdminClient,
    bootstrap: str,
    groups: Iterable[str],
    places: Collection[Place],
    timeout: float = TIMEOUT,
) -> dict[str, dict[Place, int]]:
    """Where each consumer group reads on, of those places that it reads; raises `Unreachable`.

    Ask for the ends of the logs after this: the other way round, what is unread could be missed.
    """
    starts = log_offsets(admin, places, EARLIEST, timeout)
    return {
        group: group_positions(
            topics_read(group), committed_offsets(bootstrap, group, places, timeout), starts
        )
        for group in groups
    }


def group_positions(
    topics: Iterable[str], committed: Mapping[Place, int], starts: Mapping[Place, int]
) -> dict[Place, int]:
    """Where a group reads on that reads these topics, and those of which it has committed any.

    That is where the log starts as long as it has committed nothing: all of it is still unread.
    """
    read = {*topics, *(topic for topic, _ in committed)}
    return {place: at for place, at in starts.items() if place[0] in read} | dict(committed)


def described_groups(
    admin: AdminClient, groups: Iterable[str], timeout: float = TIMEOUT
) -> dict[str, ConsumerGroupDescription | None]:
    """Consumer groups as the broker describes them; None is one that nobody ever joined.

    Raises `Unreachable` where one is not described: it may have members all the same.
    """
    answers = admin.describe_consumer_groups(list(groups), request_timeout=timeout)
    return {group: _described(answer) for group, answer in answers.items()}


def member_counts(
    admin: AdminClient, groups: Iterable[str], timeout: float = TIMEOUT
) -> dict[str, int]:
    """How many members each consumer group has; raises `Unreachable`."""
    found = described_groups(admin, groups, timeout)
    return {group: len(one.members) if one else 0 for group, one in found.items()}


def _described(answer: "Future[ConsumerGroupDescription]") -> ConsumerGroupDescription | None:
    try:
        return answer.result()
    except KafkaException as error:
        if error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND:
            return None
        raise Unreachable(f"broker: {error}") from error


def anew(bootstrap: str) -> AdminClient:
    """A new client for who goes on asking after a failure.

    One that was made before its broker was there has been seen never to find it.
    """
    _asker.cache_clear()
    return admin_client(bootstrap)


@cache
def _asker(bootstrap: str, group: str) -> Consumer:
    settings = {**client_config(bootstrap), "group.id": group, "enable.auto.commit": False}
    return Consumer(settings)


def ask(question: Any) -> Any:
    """The answer of the broker; raises `Unreachable`."""
    try:
        return question()
    except (KafkaException, TimeoutError) as error:
        raise Unreachable(f"broker: {error}") from error
