"""Runs the parts of a start: each as soon as what it needs is done, several at once."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from infra.local.background import Background


@dataclass(frozen=True, slots=True)
class Part:
    """One step of a start. ``work`` returns a few words about what it found or did."""

    name: str
    work: Callable[[], str]
    needs: tuple[str, ...] = ()


class Watcher(Protocol):
    """Is told how the parts come along."""

    def began(self, name: str) -> object: ...

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
    began: dict[str, float] = {}
    failure: PartFailed | None = None
    background: Background[str] = Background(at_once=len(parts))
    while pending or began:
        for part in [part for part in pending.values() if done.issuperset(part.needs)]:
            del pending[part.name]
            watcher.began(part.name)
            began[part.name] = time.monotonic()
            background.start(part.name, part.work)
        if not began:
            raise ValueError(f"these parts wait for each other: {', '.join(pending)}")
        name, result = background.next()
        seconds = time.monotonic() - began.pop(name)
        if isinstance(result, BaseException):
            watcher.failed(name, seconds, result)
            failure = failure or _because(name, result)
            pending.clear()
        else:
            watcher.ended(name, seconds, result)
            done.add(name)
    if failure:
        raise failure


def _because(name: str, error: BaseException) -> PartFailed:
    failure = PartFailed(name)
    failure.__cause__ = error
    return failure
