"""A consumer is ready while it can make progress, not merely while its thread turns."""

import json
import threading
import time
from typing import Any, cast

import pytest

from services.eventkit.batch import BatchHandler
from services.eventkit.consumer import BatchConsumer


@pytest.fixture
def consumer() -> BatchConsumer:
    """One that has joined its group; the broker of its settings does not exist."""
    nobody = cast(BatchHandler, None)
    made = BatchConsumer("127.0.0.1:1", "toy", ["toy.events"], nobody, threading.Event())
    made.assigned = True
    return made


def statistics(*states: str) -> str:
    return json.dumps({"brokers": {name: {"state": name} for name in states}})


def test_without_partitions_it_is_not_ready(consumer: BatchConsumer) -> None:
    consumer.assigned = False
    assert consumer.problem() == "no partition assigned yet"


def test_a_broker_that_is_silent_makes_it_unready_until_it_is_back(consumer: BatchConsumer) -> None:
    private: Any = consumer
    assert consumer.problem() is None
    consumer.connected = time.monotonic() - 20
    private._on_statistics(statistics("DOWN", "CONNECT"))
    assert consumer.problem() == "no broker for 20 s"
    private._on_statistics(statistics("DOWN", "UP"))
    assert consumer.problem() is None


def test_a_batch_that_waits_makes_it_unready_and_is_named(consumer: BatchConsumer) -> None:
    consumer.waiting = "OperationalError: connection refused"
    assert consumer.problem() == "a batch waits: OperationalError: connection refused"
