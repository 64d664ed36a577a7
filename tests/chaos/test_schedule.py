"""The schedule: the same for the same seed, and nothing is spared."""

from itertools import pairwise

import pytest

from tests.chaos.schedule import APART, CONNECTIONS, LASTS, PROCESSES, Action, schedule

QUARTER_HOUR = 15 * 60.0
SEEDS = range(1, 11)


def actions(kind: str, seed: int = 1) -> list[Action]:
    return [action for action in schedule(seed, QUARTER_HOUR) if action.kind == kind]


def test_same_seed_same_schedule() -> None:
    assert schedule(7, QUARTER_HOUR) == schedule(7, QUARTER_HOUR)
    assert schedule(7, QUARTER_HOUR) != schedule(8, QUARTER_HOUR)


def test_it_does_not_change_from_one_version_to_the_next() -> None:
    assert [str(action) for action in schedule(1, 60)] == [
        "kill postgres",
        "kill email",
        "kill analytics",
        "kill connect-guardian",
        "delay kafka for 4 s",
        "kill projector-agent",
        "kill inventory",
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_longer_one_begins_with_the_same(seed: int) -> None:
    short = schedule(seed, 200)
    assert schedule(seed, QUARTER_HOUR)[: len(short)] == short


@pytest.mark.parametrize("seed", SEEDS)
def test_a_quarter_of_an_hour_kills_sixty_times_and_everything_thrice(seed: int) -> None:
    kills = [action.target for action in actions("kill", seed)]
    assert len(kills) >= 60
    assert set(kills) == set(PROCESSES)
    assert min(kills.count(process) for process in PROCESSES) >= 3


@pytest.mark.parametrize("kind", ["stop", "pause", "restart"])
def test_processes_are_also_stopped_paused_and_restarted(kind: str) -> None:
    assert len(actions(kind)) >= 3


@pytest.mark.parametrize("kind", ["cut", "delay", "silence"])
def test_connections_are_disturbed(kind: str) -> None:
    assert len(actions(kind)) >= 3
    assert {action.target for action in actions(kind)} <= set(CONNECTIONS)


def test_one_thing_at_a_time() -> None:
    planned = schedule(3, QUARTER_HOUR)
    for earlier, later in pairwise(planned):
        assert later.at == earlier.at + earlier.lasts + APART


def test_what_lasts_is_within_its_bounds() -> None:
    for action in schedule(5, QUARTER_HOUR):
        shortest, longest = LASTS.get(action.kind, (0, 0))
        assert shortest <= action.lasts <= longest
