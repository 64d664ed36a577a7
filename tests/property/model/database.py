"""What a service's database keeps, and a transaction on it: written whole or not at all."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from services.eventkit.decision import DUPLICATE, Decision, Event, Facts, Handlers, On
from services.eventkit.envelope import Envelope
from services.eventkit.ids import derived
from services.eventkit.records import Message
from tests.property.model.habits import Habits
from tests.property.model.topics import OutboxRow, wire

PENDING, RUNNING = "pending", "running"
SUCCEEDED, FAILED, DEAD, CANCELLED = "succeeded", "failed", "dead", "cancelled"

Step = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Job:
    """A row of the jobs table; ``worker`` is who claimed it."""

    id: UUID
    key: str
    kind: str
    args: Mapping[str, Any]
    cause: Event
    causation_id: UUID | None
    status: str = PENDING
    attempts: int = 0
    redrives: int = 0
    worker: str = ""
    leased: bool = False
    rule_failed: bool = False


@dataclass(frozen=True, slots=True)
class Letter:
    """A message put aside: ``dead`` by its own fault, or parked behind one that is."""

    message: Message
    dead: bool


@dataclass(frozen=True, slots=True)
class Decided:
    """What became of one input; ``message`` is None for a command or a job's result."""

    event: Event
    message: Message | None
    before: Any
    decision: Decision[Any]


@dataclass
class Database:
    """The rows of one service. ``decided`` is its log: what it did with each input, in order."""

    states: dict[str, Any] = field(default_factory=dict)
    related: dict[str, Any] = field(default_factory=dict)
    outbox: list[OutboxRow] = field(default_factory=list)
    inbox: set[UUID] = field(default_factory=set)
    letters: list[Letter] = field(default_factory=list)
    jobs: dict[UUID, Job] = field(default_factory=dict)
    decided: list[Decided] = field(default_factory=list)

    def blocked(self) -> set[str]:
        """The keys that have a letter."""
        return {letter.message.event.key for letter in self.letters}


class BrokenRule(Exception):
    """A rule that raises, as a mistake in it would."""


class BrokenPromise(AssertionError):
    """A rule did what its line in the handler table does not name."""


class Transaction:
    """Inputs decided in memory by a service's rules, and written by `commit`."""

    def __init__(
        self,
        service: str,
        handlers: Handlers[Any],
        database: Database,
        broken: set[str],
        habits: Habits,
        now: datetime,
    ) -> None:
        self.now = now
        self._habits = habits
        self._service = service
        self._handlers = handlers
        self._database = database
        self._broken = broken
        self.states = dict(database.states)
        self.related = dict(database.related)
        self.inbox = set(database.inbox)
        self.letters = list(database.letters)
        self.jobs = dict(database.jobs)
        self.events: list[OutboxRow] = []
        self.new_jobs: list[Job] = []
        self.decided: list[Decided] = []

    def decide(
        self, event: Event, causation_id: UUID | None, message: Message | None = None
    ) -> Decision[Any]:
        """Runs the rule of one input. Raises `BrokenRule`; then nothing of the input happened."""
        if event.key in self._broken:
            raise BrokenRule
        line = self._handlers[event.type]
        before = self.states.get(event.key)
        decision = line.rule(before, event, Facts(self.now, self.related))
        _keeps_promises(line, event, decision)
        version = before.version if before is not None else 0
        rows = self._rows(event, causation_id, decision, version)
        if decision.state is not None:
            self.states[event.key] = replace(decision.state, version=version + len(rows))
        self.related.update(decision.related)
        self.events += rows
        self._change_jobs(event, causation_id, decision)
        self.decided.append(Decided(event, message, before, decision))
        return decision

    def note(self, message: Message, outcome: str = DUPLICATE) -> None:
        """Logs a message that met no rule."""
        self.decided.append(Decided(message.event, message, None, Decision(outcome)))

    def steps(self) -> list[Step]:
        """What writes the transaction: one step, which a crash leaves undone or done."""
        parts = (
            (True, self._write_states),
            (self._habits.stores_events_with_states, self._write_events),
            (self._habits.stores_jobs_with_states, self._write_jobs),
        )
        together = [write for at_once, write in parts if at_once]
        return [partial(_all, together), *(write for at_once, write in parts if not at_once)]

    def commit(self) -> None:
        """Writes everything."""
        for step in self.steps():
            step()

    def _write_states(self) -> None:
        database = self._database
        database.states, database.related = self.states, self.related
        database.inbox, database.letters = self.inbox, self.letters
        database.jobs = self.jobs
        database.decided += self.decided

    def _write_events(self) -> None:
        self._database.outbox += self.events

    def _write_jobs(self) -> None:
        self._database.jobs = self._database.jobs | {job.id: job for job in self.new_jobs}

    def _rows(
        self, event: Event, causation_id: UUID | None, decision: Decision[Any], version: int
    ) -> list[OutboxRow]:
        return [
            OutboxRow(
                Envelope(
                    message_id=derived(self._service, event.id, "event", index),
                    event_type=emit.type,
                    source=f"/services/{self._service}",
                    time=self.now,
                    subject=event.key,
                    correlation_id=event.correlation_id,
                    causation_id=str(causation_id) if causation_id else None,
                    sequence=version + index + 1,
                    schema_version="1",
                    tenant_id=event.tenant_id,
                    actor_id=event.actor_id,
                    traceparent=None,
                ),
                f"{self._service}.events",
                wire(emit),
            )
            for index, emit in enumerate(decision.emits)
        ]

    def _change_jobs(
        self, event: Event, causation_id: UUID | None, decision: Decision[Any]
    ) -> None:
        def unwanted(job: Job) -> bool:
            return job.key == event.key and job.kind in decision.cancel_jobs

        for job in self.jobs.values() if decision.cancel_jobs else ():
            if unwanted(job) and job.status == PENDING:
                self.jobs = self.jobs | {job.id: replace(job, status=CANCELLED)}
        self.new_jobs = [job for job in self.new_jobs if not unwanted(job)]
        for index, new in enumerate(decision.jobs):
            job_id = derived(self._service, event.id, "job", index)
            self.new_jobs.append(Job(job_id, event.key, new.kind, new.args, event, causation_id))


def _all(steps: Sequence[Step]) -> None:
    for step in steps:
        step()


def _keeps_promises(line: On[Any], event: Event, decision: Decision[Any]) -> None:
    emitted = {emit.type for emit in decision.emits}
    planned = {job.kind for job in decision.jobs}
    if not emitted <= set(line.emits) or not planned <= set(line.jobs):
        raise BrokenPromise(f"{event.type} led to {sorted(emitted | planned)}")
    if decision.outcome.startswith("ignored:") and decision != Decision(decision.outcome):
        raise BrokenPromise(f"{event.type} was {decision.outcome}, and yet left a trace")
