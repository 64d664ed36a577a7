"""Work on daemon threads: a person's Ctrl-C ends the command at once, whatever is under way."""

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Generic, TypeVar

R = TypeVar("R")


class Background(Generic[R]):
    """Runs work on threads and hands out the results as they come."""

    def __init__(self, at_once: int) -> None:
        self._places = threading.Semaphore(at_once)
        self._results: SimpleQueue[tuple[str, R | BaseException]] = SimpleQueue()

    def start(self, name: str, work: Callable[[], R]) -> None:
        """Begin ``work`` now or, when too much is under way, as soon as there is a place."""

        def run() -> None:
            with self._places:
                try:
                    self._results.put((name, work()))
                except BaseException as error:
                    self._results.put((name, error))

        threading.Thread(target=run, name=name, daemon=True).start()

    def next(self) -> tuple[str, R | BaseException]:
        """Wait for the next result: a name, and what its work returned or raised."""
        return self._results.get()
