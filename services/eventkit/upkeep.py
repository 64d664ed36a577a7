"""What a service does besides its work: looks after its relay, and forgets what has grown old.

Chores run one after the other in a thread of their own. One that fails is tried again when it is
next due: none of them is in the way of an order.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy.exc import SQLAlchemyError

from services.eventkit import logs

LOG = logs.logger("upkeep")


@dataclass(frozen=True, slots=True)
class Chore:
    """Something to do every so many seconds, for the first time at once."""

    name: str
    every: float
    do: Callable[[], object]


class Upkeep:
    """Runs chores when they are due."""

    def __init__(self, chores: Sequence[Chore]) -> None:
        self._due = dict.fromkeys(chores, 0.0)
        self._failing: set[str] = set()

    def run(self, stop: threading.Event) -> None:
        """Works until ``stop`` is set."""
        while not stop.is_set():
            for chore, due in self._due.items():
                if time.monotonic() >= due and not stop.is_set():
                    self._try(chore)
                    self._due[chore] = time.monotonic() + chore.every
            stop.wait(max(0.05, min(self._due.values()) - time.monotonic()))

    def _try(self, chore: Chore) -> None:
        try:
            chore.do()
        except SQLAlchemyError as error:
            if chore.name not in self._failing:
                LOG.warning("chore failed", chore=chore.name, error=str(error)[:200])
            self._failing.add(chore.name)
        else:
            self._failing.discard(chore.name)
