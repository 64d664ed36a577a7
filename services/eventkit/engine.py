"""Decide, then write: the one path on which an aggregate changes.

Consumed events, API commands and job results all come here as `Step`s. Under the locks of their
keys, aggregates are loaded, rules run in memory in order, what they emit is encoded, and only then
is anything written, one statement a table. A rule or an encoding that raises therefore poisons
nothing but its own step.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import Any, Generic, Protocol, TypeVar
from uuid import UUID

import sqlalchemy as sa
from opentelemetry.context import Context
from opentelemetry.trace import SpanKind
from prometheus_client import Histogram
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.engine import Connection

from services.eventkit import jobs, metrics, outbox, tables, tracing
from services.eventkit.codec import Codec
from services.eventkit.decision import Decision, Event, Facts, Handlers, On
from services.eventkit.envelope import Envelope
from services.eventkit.ids import derived
from services.eventkit.jobs import JobRow
from services.eventkit.outbox import OutboxRow

S = TypeVar("S", bound=Any)
Measure = Callable[[S | None, S | None], None]
"""Told of an aggregate before and after a step that has committed; after is None where it stays."""

_KEYS = sa.bindparam("keys", type_=ARRAY(sa.Text))
_ENTER_KEYS = (
    insert(tables.keys)
    .from_select(["key"], sa.select(sa.func.unnest(_KEYS).column_valued("key")))
    .on_conflict_do_nothing()
)
_LOCK_KEYS = (
    sa.select(tables.keys.c.key)
    .where(tables.keys.c.key == sa.any_(_KEYS))
    .order_by(tables.keys.c.key)
    .with_for_update()
)


class Store(Protocol[S]):
    """A service's SQL: loads and saves aggregates and their related rows, set by set."""

    def load(self, conn: Connection, keys: Sequence[str]) -> dict[str, S]:
        """The aggregates of these keys; a key never seen is left out."""
        ...

    def related(
        self, conn: Connection, events: Sequence[Event], states: Mapping[str, S]
    ) -> dict[str, Any]:
        """The related rows that the rules of these events need, locked in a fixed order."""
        ...

    def save(self, conn: Connection, states: Mapping[str, S], related: Mapping[str, Any]) -> None:
        """Writes the changed aggregates and related rows."""
        ...


@dataclass(frozen=True, slots=True)
class Step:
    """One input: the event, the message that caused it (for causation), and its trace."""

    event: Event
    causation_id: UUID | None
    context: Context


@dataclass(frozen=True, slots=True)
class Done(Generic[S]):
    """A step that was decided, and will be written with its transaction."""

    step: Step
    decision: Decision[S]
    before: S | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """A step whose rule or encoding raised; nothing of it is written."""

    step: Step
    error: Exception


@dataclass(frozen=True, slots=True)
class Behind:
    """A step that was not tried because an earlier one of its key failed or is blocked."""

    step: Step


Outcome = Done[Any] | Failed | Behind


class BrokenPromise(Exception):
    """A rule emitted an event, or planned a job, that its handler line does not name."""


@dataclass
class _Work(Generic[S]):
    """What the steps of one transaction have come to so far, in memory."""

    states: dict[str, S]
    related: dict[str, Any]
    changed: dict[str, S] = field(default_factory=dict)
    changed_related: dict[str, Any] = field(default_factory=dict)
    rows: list[OutboxRow] = field(default_factory=list)
    jobs: list[JobRow] = field(default_factory=list)
    cancelled: set[tuple[str, str]] = field(default_factory=set)

    def cancel(self, unwanted: set[tuple[str, str]]) -> None:
        """Cancels waiting jobs by (key, kind): stored ones, and those planned a step ago."""
        self.cancelled |= unwanted
        self.jobs = [job for job in self.jobs if (job.key, job.kind) not in unwanted]


class Engine(Generic[S]):
    """Runs a service's rules over its aggregates."""

    def __init__(
        self,
        service: str,
        handlers: Handlers[S],
        store: Store[S],
        codec: Codec,
        topic: str,
        measure: Measure[S] = lambda _, __: None,
    ) -> None:
        self.service = service
        self._measure = measure
        self.handlers = handlers
        self.store = store
        self.codec = codec
        self.topic = topic

    def execute(
        self,
        conn: Connection,
        steps: Sequence[Step],
        now: datetime,
        spans: tracing.SpanBatch,
        blocked: Collection[str] = (),
    ) -> list[Outcome]:
        """Decides all steps in order and writes the result; the caller commits.

        The keys of the steps must be locked by `lock_keys` in the same transaction. Steps of a
        ``blocked`` key, and those behind a failed step of their key, come back as `Behind`.
        """
        keys = sorted({step.event.key for step in steps} - set(blocked))
        events = [step.event for step in steps if step.event.key not in blocked]
        states = self.store.load(conn, keys)
        work = _Work(states, self.store.related(conn, events, states))
        stopped = set(blocked)
        outcomes = [self._step(step, work, now, spans, stopped) for step in steps]
        self._write(conn, work)
        return outcomes

    def _step(
        self, step: Step, work: _Work[S], now: datetime, spans: tracing.SpanBatch, stopped: set[str]
    ) -> Outcome:
        if step.event.key in stopped:
            return Behind(step)
        before = work.states.get(step.event.key)
        started = time.perf_counter()
        try:
            decision = self._decide(step, work, now, spans)
        except Exception as error:
            stopped.add(step.event.key)
            return Failed(step, error)
        finally:
            _rule_seconds(step.event.type).observe(time.perf_counter() - started)
        return Done(step, decision, before)

    def _decide(
        self, step: Step, work: _Work[S], now: datetime, spans: tracing.SpanBatch
    ) -> Decision[S]:
        event = step.event
        line = self.handlers[event.type]
        before = work.states.get(event.key)
        decision = line.rule(before, event, Facts(now, work.related))
        _check_promises(line, decision)
        version = before.version if before is not None else 0
        rows = self._encode(step, decision, version, now, spans)
        new_jobs = self._plan(step, decision, now)
        # From here on nothing can raise: the step is taken in whole or not at all.
        if decision.state is not None:
            state = replace(decision.state, version=version + len(rows))
            work.states[event.key] = work.changed[event.key] = state
        work.related.update(decision.related)
        work.changed_related.update(decision.related)
        work.rows.extend(rows)
        if decision.cancel_jobs:
            work.cancel({(event.key, kind) for kind in decision.cancel_jobs})
        work.jobs.extend(new_jobs)
        return decision

    def _encode(
        self,
        step: Step,
        decision: Decision[S],
        version: int,
        now: datetime,
        spans: tracing.SpanBatch,
    ) -> list[OutboxRow]:
        if decision.emits and decision.state is None:
            raise BrokenPromise("an event was emitted without a state to carry its version")
        rows = []
        for index, emit in enumerate(decision.emits):
            payload = self.codec.encode(emit.type, emit.data)
            message_id = derived(self.service, step.event.id, "event", index)
            context = self._send_span(step, emit.type, message_id, spans)
            envelope = Envelope(
                message_id=message_id,
                event_type=emit.type,
                source=f"/services/{self.service}",
                time=now,
                subject=step.event.key,
                correlation_id=step.event.correlation_id,
                causation_id=str(step.causation_id) if step.causation_id else None,
                sequence=version + index + 1,
                schema_version=self.codec.version_of(emit.type),
                tenant_id=step.event.tenant_id,
                actor_id=step.event.actor_id,
                traceparent=tracing.traceparent_of(context),
            )
            rows.append(OutboxRow(envelope, self.topic, payload))
        return rows

    def _send_span(
        self, step: Step, event_type: str, message_id: UUID, spans: tracing.SpanBatch
    ) -> Context:
        return spans.start(
            f"send {self.topic}",
            SpanKind.PRODUCER,
            step.context,
            lambda: {
                "messaging.system": "kafka",
                "messaging.operation.type": "send",
                "messaging.operation.name": "send",
                "messaging.destination.name": self.topic,
                "messaging.message.id": str(message_id),
                "messaging.kafka.message.key": step.event.key,
                "saga.event_type": event_type,
            },
        )

    def _plan(self, step: Step, decision: Decision[S], now: datetime) -> list[JobRow]:
        return [
            JobRow(
                job_id=derived(self.service, step.event.id, "job", index),
                key=step.event.key,
                kind=job.kind,
                args=dict(job.args),
                priority=job.priority,
                run_at=job.run_at or now,
                tenant_id=step.event.tenant_id,
                actor_id=step.event.actor_id,
                correlation_id=step.event.correlation_id,
                causation_id=str(step.causation_id) if step.causation_id else None,
                traceparent=tracing.traceparent_of(step.context),
            )
            for index, job in enumerate(decision.jobs)
        ]

    def count(self, outcomes: Sequence[Outcome]) -> None:
        """Counts outcomes once their transaction has committed."""
        done = [outcome for outcome in outcomes if isinstance(outcome, Done)]
        events = ((one.step.event, one.decision.outcome) for one in done)
        emits = (emit for one in done for emit in one.decision.emits)
        metrics.count(metrics.EVENTS, ((event.type, event.source, how) for event, how in events))
        metrics.count(metrics.EMITTED, ((emit.type,) for emit in emits))
        for one in done:
            self._measure(one.before, one.decision.state)

    def _write(self, conn: Connection, work: _Work[S]) -> None:
        if work.changed or work.changed_related:
            self.store.save(conn, work.changed, work.changed_related)
        outbox.add(conn, work.rows)
        jobs.cancel(conn, work.cancelled)
        jobs.add(conn, work.jobs)


def lock_keys(conn: Connection, keys: Collection[str]) -> None:
    """Takes the lock of each key, in order; it is held until the transaction ends.

    A row of ``keys`` stands for an aggregate that may not exist yet: ``FOR UPDATE`` alone does not
    lock rows that are not there.
    """
    if not keys:
        return
    ordered = {"keys": sorted(keys)}
    conn.execute(_ENTER_KEYS, ordered)
    conn.execute(_LOCK_KEYS, ordered)


@cache
def _rule_seconds(event_type: str) -> Histogram:
    return metrics.RULE_SECONDS.labels(event_type)


def planned_jobs(outcomes: Sequence[Outcome]) -> bool:
    """True where a worker has something new to do."""
    return any(isinstance(outcome, Done) and outcome.decision.jobs for outcome in outcomes)


def _check_promises(line: On[Any], decision: Decision[Any]) -> None:
    emitted = {emit.type for emit in decision.emits} - set(line.emits)
    planned = {job.kind for job in decision.jobs} - set(line.jobs)
    if emitted or planned:
        raise BrokenPromise(f"{line.type} may not lead to {sorted(emitted | planned)}")
