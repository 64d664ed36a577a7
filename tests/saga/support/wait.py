"""Waiting for a condition with a deadline, never for time to pass."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

POLL = 0.1
SECONDS = 40.0
"""Generous, because a test machine may be busy; a condition that holds ends the wait at once."""


def until(look: Callable[[], T | None], what: str, seconds: float = SECONDS) -> T:
    """The first answer that is true. Fails naming ``what`` when there is none in time."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:.0f} s for {what}; last seen: {found!r}")
        time.sleep(POLL)
    return found


def eventually(check: Callable[[], None], seconds: float = SECONDS) -> None:
    """Repeats a check until it passes; after ``seconds`` its own failure is the test's."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            check()
            return
        except AssertionError:
            if time.monotonic() > deadline:
                raise
        time.sleep(POLL)
