"""A broker that leads nothing for a moment is asked again; one that is away is told of as such."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from services.eventkit.rebuild import feed
from services.orderctl import kafka
from services.orderctl.errors import NOT_ANSWERING, CliError
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
    broker = Broker(KafkaError._TIMED_OUT)
    with pytest.raises(CliError) as raised:
        watermarks(cast(Consumer, broker), PART)
    assert raised.value.code == NOT_ANSWERING
    assert broker.errors == []


class Silent:
    """A consumer whose broker went away: it has nothing, or only errors that pass."""

    def __init__(self, error: int | None) -> None:
        self._error = error

    def poll(self, _: float) -> Any:
        """As a consumer is asked for the next record."""
        if self._error is None:
            return None
        error = KafkaError(self._error)
        return SimpleNamespace(
            error=lambda: error, topic=lambda: PART.topic, partition=lambda: PART.partition
        )

    def __getattr__(self, _: str) -> Any:
        return lambda *_: []


@pytest.mark.parametrize("error", [None, KafkaError._TRANSPORT])
def test_reading_ends_where_the_broker_goes_away(
    monkeypatch: pytest.MonkeyPatch, error: int | None
) -> None:
    monkeypatch.setattr(kafka, "_logs", lambda *_: {(PART.topic, PART.partition): range(3, 8)})
    monkeypatch.setattr(feed, "Consumer", lambda _: Silent(error))
    monkeypatch.setattr(feed, "_SILENCE", 0.05)
    with pytest.raises(CliError) as raised:
        list(kafka.read_all("127.0.0.1:1", [PART.topic]))
    assert raised.value.code == NOT_ANSWERING
