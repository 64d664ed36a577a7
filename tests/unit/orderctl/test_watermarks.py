"""A broker that leads nothing for a moment is asked again."""

from typing import cast

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from services.orderctl.kafka import watermarks

PART = TopicPartition("order.events", 0)


class Broker:
    """Answers with errors first, then with offsets."""

    def __init__(self, *errors: int) -> None:
        self.errors = list(errors)

    def get_watermark_offsets(self, _: TopicPartition, timeout: float) -> tuple[int, int]:
        """As a consumer is asked."""
        if self.errors:
            raise KafkaException(KafkaError(self.errors.pop(0)))
        return 3, 8


def test_what_passes_is_asked_again() -> None:
    broker = Broker(KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)
    assert watermarks(cast(Consumer, broker), PART) == (3, 8)


def test_what_does_not_pass_is_told_at_once() -> None:
    broker = Broker(KafkaError.UNKNOWN_TOPIC_OR_PART)
    with pytest.raises(KafkaException):
        watermarks(cast(Consumer, broker), PART)
    assert broker.errors == []
