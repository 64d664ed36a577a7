"""Runs the parts of a start: each as soon as what it needs is done, several at once."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Part:
    """One step of a start. ``work`` returns a few words about what it found or did."""

    name: str
    work: Callable[[], str]
    needs: tuple[str, ...] = ()


class Watcher(Protocol):
    """Is told how the parts come along."""

    def began(self, name: str) -> None: ...

    def ended(self, name: str, seconds: float, words: str) -> None: ...

    def failed(self, name: str, seconds: float, error: BaseException) -> None: ...


class PartFailed(Exception):
    """The first part that failed; its reason is the cause."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def run(parts: Sequence[Part], watcher: Watcher) -> None:
    """Run all parts. After a failure no further part begins; raises PartFailed for the first."""
    pending = {part.name: part for part in parts}
    done: set[str] = set()
    began: dict[Future[str], tuple[str, float]] = {}
    failure: PartFailed | None = None
    with ThreadPoolExecutor(max_workers=len(parts)) as pool:
        while pending or began:
            ready = [part for part in pending.values() if done.issuperset(part.needs)]
            for part in ready:
                del pending[part.name]
                watcher.began(part.name)
                began[pool.submit(part.work)] = (part.name, time.monotonic())
            if not began:
                raise ValueError(f"these parts wait for each other: {', '.join(pending)}")
            for future in wait(began, return_when=FIRST_COMPLETED).done:
                name, start = began.pop(future)
                seconds = time.monotonic() - start
                if error := future.exception():
                    watcher.failed(name, seconds, error)
                    failure = failure or _because(name, error)
                    pending.clear()
                else:
                    watcher.ended(name, seconds, future.result())
                    done.add(name)
    if failure:
        raise failure


def _because(name: str, error: BaseException) -> PartFailed:
    failure = PartFailed(name)
    failure.__cause__ = error
    return failure
