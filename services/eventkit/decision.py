"""The vocabulary of pure rules: what a rule is given and what it decides.

Standard library only, so that a rule can be read and tested with nothing running.
A rule is ``(state, event, facts) -> Decision``: it never reads a clock, a database or the network.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Generic, TypeVar
from uuid import UUID

APPLIED = "applied"
DUPLICATE = "duplicate"

ATTEMPTS_EXHAUSTED = "attempts_exhausted"
"""The reason of a job's failure where it was only tried too often: its outcome is unknown."""


def ignored(why: str) -> str:
    """The outcome of an event that does not apply: named, logged and counted, never silent."""
    return f"ignored:{why}"


@dataclass(frozen=True, slots=True)
class Event:
    """A fact as a rule sees it: a consumed event, an API command or the result of a job.

    ``key`` is the aggregate's id and the Kafka key; ``time`` is when it happened, in UTC.
    """

    id: UUID
    type: str
    key: str
    data: Mapping[str, Any]
    tenant_id: str
    actor_id: str
    correlation_id: str
    time: datetime
    sequence: int = 0
    source: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a rule may know besides its aggregate: the time, and the related rows loaded for it."""

    now: datetime
    related: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Emit:
    """An event to publish, by its record name and its fields."""

    type: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NewJob:
    """Work for the outside world, stored in the same transaction and done by a worker later.

    ``run_at`` None means at once; a lower ``priority`` runs first.
    """

    kind: str
    args: Mapping[str, Any] = field(default_factory=dict)
    run_at: datetime | None = None
    priority: int = 100


S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Decision(Generic[S]):
    """What a rule decided.

    ``state`` None leaves the aggregate as it is. The loop that runs the rule sets ``version``.
    ``cancel_jobs`` names the kinds of this aggregate's waiting jobs that are no longer wanted.
    ``related`` holds the related rows that changed, by the key they had in ``Facts.related``.
    """

    outcome: str
    state: S | None = None
    emits: tuple[Emit, ...] = ()
    jobs: tuple[NewJob, ...] = ()
    cancel_jobs: tuple[str, ...] = ()
    related: Mapping[str, Any] = field(default_factory=dict)


Rule = Callable[[S | None, Event, Facts], Decision[S]]


@dataclass(frozen=True, slots=True)
class On(Generic[S]):
    """One line of a handler table: the input, the rule it meets, and all that may come of it.

    ``source`` is the topic a consumed event arrives on, ``"api"`` or ``"job"``.
    ``emits`` and ``jobs`` are promises: a rule that breaks them is stopped before anything is
    written, and ``docs/saga.md`` is generated from them. ``undoes`` names the action this
    compensates, for the reader.
    """

    type: str
    source: str
    rule: Rule[S]
    emits: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    undoes: str = ""


Handlers = Mapping[str, On[S]]


def handlers(*lines: On[S]) -> Handlers[S]:
    """A service's handler table; two lines for one input are a mistake."""
    table = {line.type: line for line in lines}
    if len(table) != len(lines):
        raise ValueError("an input has two handlers")
    return MappingProxyType(table)
