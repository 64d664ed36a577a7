"""The age of what is unread: a record that does not come in time has none, and is not young."""

import time
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from services.eventkit import unread
from services.eventkit.positions import Place
from services.eventkit.unread import Reader

ONE, OTHER = ("order.events", 0), ("order.events", 1)


class Log:
    """A consumer of a broker that has some first records: when each was written, by place."""

    def __init__(self, written: Mapping[Place, float]) -> None:
        self.written = dict(written)
        self.asked: list[Place] = []
        self._assigned: list[Place] = []

    def assign(self, parts: Any) -> None:
        self._assigned = [(part.topic, part.partition) for part in parts]
        self.asked += self._assigned

    def consume(self, *_: Any) -> list[Any]:
        there, self._assigned = self._assigned, []
        return [_message(place, self.written[place]) for place in there if place in self.written]

    def unassign(self) -> None:
        self._assigned = []


def _message(place: Place, when: float) -> Any:
    return SimpleNamespace(
        topic=lambda: place[0],
        partition=lambda: place[1],
        error=lambda: None,
        timestamp=lambda: (1, int(when * 1000)),
    )


def reader(monkeypatch: pytest.MonkeyPatch, log: Log) -> Reader:
    monkeypatch.setattr(unread, "Consumer", lambda _: log)
    monkeypatch.setattr(unread, "_READ_TIMEOUT", 0.01)
    return Reader("127.0.0.1:1", "test")


def test_the_oldest_record_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log({ONE: time.time() - 300, OTHER: time.time() - 5})
    assert reader(monkeypatch, log).oldest({ONE: 7, OTHER: 2}) == pytest.approx(300, abs=1)
    assert reader(monkeypatch, log).oldest({}) == 0


@pytest.mark.parametrize("written", [{}, {OTHER: 0.0}])
def test_what_does_not_come_in_time_has_no_age(
    monkeypatch: pytest.MonkeyPatch, written: dict[Place, float]
) -> None:
    assert reader(monkeypatch, Log(written)).oldest({ONE: 7, OTHER: 2}) is None


def test_a_record_that_stays_unread_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log({ONE: time.time() - 300})
    looking = reader(monkeypatch, log)
    assert looking.oldest({ONE: 7, OTHER: 2}) is None
    log.written = {OTHER: time.time()}
    assert looking.oldest({ONE: 7, OTHER: 2}) == pytest.approx(300, abs=1)
    assert log.asked == [ONE, OTHER, OTHER]
    assert looking.oldest({ONE: 8}) is None, "another group has read further"
    assert looking.oldest({ONE: 7}) == pytest.approx(300, abs=1)
