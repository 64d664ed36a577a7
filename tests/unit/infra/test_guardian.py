"""The guardian restarts what has failed, with growing pauses, and nothing else."""

from typing import cast

import pytest
import requests
from prometheus_client import REGISTRY

from infra.connect.guardian import LONGEST_PAUSE, TASKLESS_AFTER, Guardian
from infra.connect.rest import Connect, NotYet
from infra.local.errors import StackError

NAME = "outbox-order"
RUNNING, FAILED = ("RUNNING", ""), ("FAILED", "the slot is gone")


class FakeConnect:
    """A worker whose one connector is in a given state; None is a worker that is away."""

    def __init__(self) -> None:
        self.found: list[tuple[str, str]] | None = [RUNNING, RUNNING]
        self.restarted: list[str] = []
        self.made: list[str] = []
        self.refused: Exception | None = None

    def delete(self, name: str) -> None:
        self.found = []

    def put_config(self, name: str, config: dict[str, str]) -> None:
        assert config == {"name": name}
        if self.refused:
            raise self.refused
        self.made.append(name)
        self.found = [RUNNING, RUNNING]

    def states(self, name: str) -> list[tuple[str, str]]:
        if self.found is None:
            raise requests.ConnectionError("refused")
        return self.found

    def restart_failed(self, name: str) -> None:
        self.restarted.append(name)


class Clock:
    """A clock that goes only when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def fake() -> FakeConnect:
    return FakeConnect()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def guardian(fake: FakeConnect, clock: Clock) -> Guardian:
    return Guardian(cast(Connect, fake), {NAME: {"name": NAME}}, clock)


def watch(guardian: Guardian, clock: Clock, seconds: int) -> None:
    """Looks once a second."""
    for _ in range(seconds):
        guardian.look()
        clock.now += 1


def test_a_failed_task_is_restarted_with_growing_pauses(
    guardian: Guardian, fake: FakeConnect, clock: Clock
) -> None:
    fake.found = [RUNNING, FAILED]
    watch(guardian, clock, 30)
    assert fake.restarted == [NAME] * 4  # after 0, 2, 6 and 14 seconds
    watch(guardian, clock, 3600)
    assert len(fake.restarted) == pytest.approx(4 + 3600 / LONGEST_PAUSE, abs=2)


def test_one_that_stays_without_a_task_is_made_anew(
    guardian: Guardian, fake: FakeConnect, clock: Clock
) -> None:
    fake.found = [RUNNING]
    watch(guardian, clock, int(TASKLESS_AFTER))
    assert fake.made == []
    assert "without a task" in guardian.problem()
    watch(guardian, clock, 3)
    assert fake.made == [NAME]
    assert guardian.problem() == ""


@pytest.mark.parametrize("error", [NotYet("409"), StackError("refused", "look")])
def test_one_that_cannot_be_made_anew_yet_is_made_when_it_can(
    guardian: Guardian, fake: FakeConnect, clock: Clock, error: Exception
) -> None:
    fake.found, fake.refused = [RUNNING], error
    watch(guardian, clock, int(TASKLESS_AFTER) + 10)
    assert guardian.reached and "missing" in guardian.problem()
    fake.refused = None
    watch(guardian, clock, 2)
    assert fake.made == [NAME]


@pytest.mark.parametrize("state", ["PAUSED", "STOPPED", "UNASSIGNED", "RESTARTING"])
def test_what_has_not_failed_is_let_alone(
    guardian: Guardian, fake: FakeConnect, clock: Clock, state: str
) -> None:
    fake.found = [(state, "")]
    watch(guardian, clock, 10)
    fake.found = []
    watch(guardian, clock, 10)
    assert fake.restarted == []


def test_a_connector_that_ran_for_a_minute_is_restarted_at_once_again(
    guardian: Guardian, fake: FakeConnect, clock: Clock
) -> None:
    fake.found = [RUNNING, FAILED]
    watch(guardian, clock, 100)
    fake.found = [RUNNING, RUNNING]
    watch(guardian, clock, 70)
    fake.restarted.clear()
    fake.found = [RUNNING, FAILED]
    watch(guardian, clock, 4)
    assert len(fake.restarted) == 2


def test_a_worker_that_is_away_is_waited_for(
    guardian: Guardian, fake: FakeConnect, clock: Clock
) -> None:
    fake.found = None
    watch(guardian, clock, 5)
    assert not guardian.reached
    fake.found = [FAILED, RUNNING]
    watch(guardian, clock, 1)
    assert guardian.reached and fake.restarted == [NAME]


def test_it_is_not_ready_while_a_connector_does_not_run(
    guardian: Guardian, fake: FakeConnect, clock: Clock
) -> None:
    assert guardian.problem() == "Connect does not answer"
    watch(guardian, clock, 1)
    assert guardian.problem() == ""
    fake.found = [("PAUSED", ""), RUNNING]
    watch(guardian, clock, 1)
    assert guardian.problem() == f"{NAME}: paused"
    fake.found = [RUNNING, FAILED]
    watch(guardian, clock, 1)
    assert guardian.problem() == f"{NAME}: failed"


def test_a_worker_that_is_away_leaves_no_connector_counted_as_running(
    guardian: Guardian, fake: FakeConnect, clock: Clock
) -> None:
    running = {"connector": NAME}
    watch(guardian, clock, 1)
    assert REGISTRY.get_sample_value("saga_connector_running", running) == 1
    fake.found = None
    watch(guardian, clock, 1)
    assert REGISTRY.get_sample_value("saga_connector_running", running) == 0
