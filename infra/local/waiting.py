"""Waiting for a condition instead of for time to pass."""

import time
from collections.abc import Callable

from infra.local.errors import StackError

BETWEEN_LOOKS = 0.3


class NotReady(StackError):
    """A condition did not come true in time."""


def until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    """Look again and again until the condition holds. Raises NotReady after ``seconds``.

    What the condition raises is not caught: it is how it says that waiting is no use.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise NotReady(f"waited {seconds:.0f} s for {what}", "Look at `make status`.")
        time.sleep(BETWEEN_LOOKS)
