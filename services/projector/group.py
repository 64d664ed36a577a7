"""The projector's consumer group, seen from outside: who is in it, and moving it back."""

from collections.abc import Mapping

from confluent_kafka import ConsumerGroupState, ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from services.eventkit.positions import TIMEOUT, Place, ask, described_groups

_EMPTY = (ConsumerGroupState.EMPTY, ConsumerGroupState.DEAD)


def members(admin: AdminClient, group: str) -> list[str]:
    """The clients in the group, or its state where it is between two; none if it is empty.

    Raises `Unreachable`.
    """
    described = described_groups(admin, [group])[group]
    if described is None or described.state in _EMPTY:
        return []
    return sorted(member.client_id for member in described.members) or [described.state.name]


def move(admin: AdminClient, group: str, targets: Mapping[Place, int]) -> dict[Place, str]:
    """Sets the group's offsets; returns the partitions that refused, and why.

    The call itself succeeds where partitions refuse: a group that is not empty refuses each.
    """
    offsets = [TopicPartition(*place, offset) for place, offset in sorted(targets.items())]
    wanted = ConsumerGroupTopicPartitions(group, offsets)
    (answer,) = admin.alter_consumer_group_offsets([wanted], request_timeout=TIMEOUT).values()
    moved = ask(answer.result)
    return {
        (place.topic, place.partition): str(place.error)
        for place in moved.topic_partitions
        if place.error is not None
    }
