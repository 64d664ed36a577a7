"""Ends a process that is alive but does not project, so that it is started anew.

A stream client can lose its broker and never read again, with nothing raised anywhere. What counts
is therefore the outcome: there are events to project, the infrastructure answers, and still nothing
moves.
"""

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from services.eventkit import logs
from services.eventkit.positions import Place, Unreachable
from services.projector.lag import PartitionLag

EXIT_CODE = 70
_CHECK_EVERY = 2.0

_LOG = logs.logger("watchdog")


@dataclass
class Vitals:
    """What the agent's process tells of itself; times are monotonic seconds.

    ``beat`` is the last turn of the event loop, ``progress`` the last committed batch, ``waiting``
    what it waits for on purpose, ``assigned`` its partitions.
    """

    waiting: str | None = "starting"
    beat: float = field(default_factory=time.monotonic)
    progress: float = field(default_factory=time.monotonic)
    assigned: frozenset[Place] = frozenset()


class Watchdog(threading.Thread):
    """Watches from a thread of its own, which a stuck event loop does not stop."""

    def __init__(
        self,
        vitals: Vitals,
        behind: Callable[[], Sequence[PartitionLag]],
        stalled_after: float,
        end: Callable[[int], object] = os._exit,
    ) -> None:
        super().__init__(name="watchdog", daemon=True)
        self._vitals = vitals
        self._behind = behind
        self._stalled_after = stalled_after
        self._end = end
        self._seen_well = time.monotonic()

    def run(self) -> None:
        """Checks for ever."""
        while True:
            time.sleep(_CHECK_EVERY)
            self.check()

    def check(self) -> None:
        """One look; ends the process where it is stuck."""
        now = time.monotonic()
        problem = None
        if now - self._vitals.beat > self._stalled_after:
            problem = "the event loop does not turn"
        elif self._is_well():
            self._seen_well = now
        elif now - max(self._seen_well, self._vitals.progress) > self._stalled_after:
            problem = "there are events, but none is projected"
        if problem:
            _LOG.error("stuck, ending to be started anew", problem=problem)
            self._end(EXIT_CODE)

    def _is_well(self) -> bool:
        """True where nothing is to be done, or nothing can be: infrastructure is away."""
        if self._vitals.waiting:
            return True
        try:
            lags = self._behind()
        except Unreachable:
            return True
        mine = self._vitals.assigned
        return not any(lag.events for lag in lags if not mine or (lag.topic, lag.partition) in mine)
