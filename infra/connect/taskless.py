"""A connector that stays without a task is made anew.

Connect writes a connector's tasks to its configuration topic in several records. Where the broker
is away between two of them, Connect goes on with no task: it retries, finds that nothing has
changed, and writes nothing. Neither a restart nor the same configuration again helps; deleting the
connector does. Its replication slot and its stored place stay, so the new one goes on where the old
one was.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from infra.connect.rest import Connect
from infra.names import connector

MISSING, TASKLESS = "connector missing", "connector without a task"
PATIENCE_S = 20.0
"""Longer than Connect takes to give a new connector its task, also where it is busy."""


@dataclass
class Remaker:
    """``configs`` has each service's connector as it should be."""

    connect: Connect
    configs: Mapping[str, Mapping[str, str]]
    clock: Callable[[], float] = time.monotonic
    _since: dict[str, float] = field(default_factory=dict)

    def look(self, problems: Mapping[str, str]) -> None:
        """Takes note of a service's problem, if any; makes anew what has long had no task."""
        now = self.clock()
        for service, config in self.configs.items():
            if problems.get(service) == MISSING:
                self.connect.put_config(connector(service), config)
            if problems.get(service) != TASKLESS:
                self._since.pop(service, None)
            elif now - self._since.setdefault(service, now) >= PATIENCE_S:
                del self._since[service]
                self.connect.delete(connector(service))
                self.connect.put_config(connector(service), config)
