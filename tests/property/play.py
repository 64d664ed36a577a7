"""How many histories are played, and with what luck."""

from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.property.machine import History

HISTORIES = 2000
MANY_HISTORIES = 40_000
STEPS = 10
MANY_STEPS = 25


def play(machine: type[History], histories: int, steps: int = STEPS, **others: Any) -> None:
    """Plays so many histories; the same ones each time, unless told otherwise.

    Raises what the first history has broken, with its story as a note.
    """
    wanted: dict[str, Any] = {"derandomize": True, "phases": [Phase.generate]} | others
    profile = settings(
        max_examples=histories,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        **wanted,
    )
    run_state_machine_as_test(machine, settings=profile)
