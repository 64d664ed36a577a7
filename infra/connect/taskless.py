"""A connector that stays without a task, or is not there, is made anew.

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
    """Makes connectors anew, as ``configs`` has them by name.

    What is deleted and not yet made again is simply missing, so whoever looks next makes it, also
    after a kill in between. A person who wants a connector quiet pauses or stops it.
    """

    connect: Connect
    configs: Mapping[str, Mapping[str, str]]
    clock: Callable[[], float] = time.monotonic
    patience: float = PATIENCE_S
    _since: dict[str, float] = field(default_factory=dict)

    def look(self, name: str, problem: str) -> bool:
        """Takes note of a connector's problem, if any; True where it is made anew.

        Raises `NotYet`, or `StackError` where the configuration is refused.
        """
        if problem not in (MISSING, TASKLESS):
            self._since.pop(name, None)
            return False
        now = self.clock()
        if now - self._since.setdefault(name, now) < self.patience:
            return False
        if problem == TASKLESS:
            self.connect.delete(name)
        self.connect.put_config(name, self.configs[name])
        del self._since[name]
        return True
