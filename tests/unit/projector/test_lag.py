"""Whoever asks for the lag gets the last measurement and waits for no broker."""

import threading
import time
from collections.abc import Iterator, Sequence
from math import isnan
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from services.eventkit.positions import Unreachable
from services.eventkit.unread import Reader
from services.projector import lag as module
from services.projector.api import LAG_HEADER, create_read_api
from services.projector.lag import EVENTS, LagMeter, PartitionLag
from tests.saga.support.wait import until

NOWHERE = "127.0.0.1:1"
ENGINE = sa.create_engine("postgresql+psycopg://127.0.0.1:1/none")
AT_ONCE = 2.0
"""Much less than the broker hangs for."""


class Broker:
    """Answers, hangs or is away; tells how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0
        self.events = 3
        self.away = False
        self.answers = threading.Event()
        self.answers.set()

    def behind(self, *_: Any) -> Sequence[PartitionLag]:
        """In the place of the question that the meter asks."""
        self.asked += 1
        self.answers.wait(10)
        if self.away:
            raise Unreachable("broker: silent")
        return [PartitionLag("order.events", 0, self.events, 0)]


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Broker]:
    made = Broker()
    monkeypatch.setattr(module, "behind", made.behind)
    monkeypatch.setattr(Reader, "oldest", lambda *_: 1.5)
    yield made
    made.answers.set()


def new_meter(max_age: float = 0.0) -> LagMeter:
    return LagMeter(ENGINE, NOWHERE, (), max_age)


def is_unknown(meter: LagMeter) -> bool:
    try:
        meter.latest(wait=0)
    except Unreachable:
        return True
    return False


def test_the_first_who_asks_waits_for_the_first_measurement(broker: Broker) -> None:
    assert (new_meter().latest().events, broker.asked) == (3, 1)


def test_a_broker_that_hangs_is_asked_once_and_nobody_waits_for_it(broker: Broker) -> None:
    meter = new_meter()
    meter.latest()
    broker.answers.clear()
    broker.events = 8
    began = time.monotonic()
    assert [meter.latest().events for _ in range(20)] == [3] * 20
    assert time.monotonic() - began < AT_ONCE
    assert broker.asked <= 2
    broker.answers.set()
    until(lambda: meter.latest().events == 8, "the new lag", 5)


def test_answers_do_not_wait_for_a_broker_that_never_answered(broker: Broker) -> None:
    broker.answers.clear()
    with TestClient(create_read_api(ENGINE, new_meter())) as client:
        client.get("/metrics")
        began = time.monotonic()
        answers = [client.get("/nowhere") for _ in range(5)]
        assert time.monotonic() - began < AT_ONCE
    assert {a.headers[LAG_HEADER] for a in answers} == {"events=unknown; seconds=unknown"}


def test_what_is_young_is_not_measured_again(broker: Broker) -> None:
    meter = new_meter(max_age=60)
    assert [meter.latest().events for _ in range(5)] == [3] * 5
    assert broker.asked == 1


def test_a_broker_that_went_away_makes_the_lag_unknown_until_it_is_back(broker: Broker) -> None:
    meter = new_meter()
    assert meter.latest().seconds == 1.5
    broker.away = True
    until(lambda: is_unknown(meter), "the absence to be told", 5)
    broker.away = False
    until(lambda: not is_unknown(meter), "the lag to be known again", 5)


def test_the_watch_measures_for_all_and_for_the_metrics(broker: Broker) -> None:
    meter = new_meter(max_age=60)
    meter.measure()
    assert (meter.latest(wait=0).events, EVENTS._value.get()) == (3, 3)
    broker.events = 5
    meter.measure()
    assert (meter.latest(wait=0).events, EVENTS._value.get()) == (5, 5)
    broker.away = True
    meter.measure()
    assert is_unknown(meter) and isnan(EVENTS._value.get())
