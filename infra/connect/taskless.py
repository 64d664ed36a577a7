"""A connector that stays without a task is made anew.

Connect writes a connector's tasks to its configuration topic in several records. Where the broker
is away between two of them, Connect goes on with no task: it retries, finds that nothing has
changed, and writes nothing. Neither a restart nor the same configuration again helps; deleting the
connector does. Its replication slot and its stored place stay, so the new one goes on where the old
one was.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from infra.connect.rest import Connect

MISSING, TASKLESS = "connector missing", "connector without a task"
RUNNING = "RUNNING"
PATIENCE_S = 20.0
"""Longer than Connect takes to give a new connector its task, also where it is busy."""


def absent(states: Sequence[tuple[str, str]]) -> str:
    """What is not there of a connector (see `Connect.states`): all of it, its task, or nothing."""
    if not states:
        return MISSING
    return TASKLESS if [state for state, _ in states] == [RUNNING] else ""


@dataclass
class Remaker:
    """Makes connectors anew, with the configuration that Connect has of them."""

    connect: Connect
    clock: Callable[[], float] = time.monotonic
    patience: float = PATIENCE_S
    _since: dict[str, float] = field(default_factory=dict)
    _removed: dict[str, Mapping[str, str]] = field(default_factory=dict)

    def look(self, name: str, problem: str) -> bool:
        """Takes note of a connector's problem, if any; True where it is made anew."""
        if problem == MISSING and name in self._removed:
            self._make(name)
            return True
        if problem != TASKLESS:
            self._since.pop(name, None)
            return False
        now = self.clock()
        if now - self._since.setdefault(name, now) < self.patience:
            return False
        config = self.connect.config_of(name)
        if config is None:
            return False
        del self._since[name]
        self._removed[name] = config
        self.connect.delete(name)
        self._make(name)
        return True

    def _make(self, name: str) -> None:
        self.connect.put_config(name, self._removed[name])
        del self._removed[name]
