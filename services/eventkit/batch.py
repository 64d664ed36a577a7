"""One batch of records, one transaction: inbox, locks, rules, writes.

Everything the consumer decides about records is here and knows no Kafka; the loop around it that
takes records and commits offsets is `consumer`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.exc import StatementError

from services.eventkit import dead_letters, hops, inbox, logs, metrics, tracing
from services.eventkit import engine as engine_module
from services.eventkit.codec import EncodingError
from services.eventkit.db import as_text, is_bad_data
from services.eventkit.dead_letters import DEAD, PARKED, Letter, put_aside
from services.eventkit.decision import DUPLICATE
from services.eventkit.engine import Behind, Done, Engine, Failed, Outcome, Step
from services.eventkit.envelope import event_type_of
from services.eventkit.records import Message, Poison, RawRecord, read
from services.eventkit.taken import TakenSpans

LOG = logs.logger("consumer")


@dataclass(frozen=True, slots=True)
class Handled:
    """What became of one message, for the log."""

    message: Message | Poison
    outcome: str


@dataclass(frozen=True, slots=True)
class BatchResult:
    """A committed batch; ``new_jobs`` tells the worker to look."""

    handled: Sequence[Handled]
    new_jobs: bool


class BatchHandler:
    """Handles batches of records for one service. ``group`` is its consumer group."""

    def __init__(self, db: sa.Engine, engine: Engine[Any], group: str) -> None:
        self._db = db
        self._engine = engine
        self._group = group

    def handle(self, records: Sequence[RawRecord]) -> bool:
        """Handles the records in order; True where new jobs wait.

        Raises what an infrastructure fault raises; then nothing of the batch has happened.
        """
        messages = self._read_all(records)
        hops.measure(records, messages)
        if not messages:
            return False
        try:
            result = self._transaction(messages)
        except StatementError as error:
            if not is_bad_data(error):
                raise
            result = self._one_by_one(messages)
        _report(result.handled)
        return result.new_jobs

    def _read_all(self, records: Sequence[RawRecord]) -> list[Message | Poison]:
        messages = []
        skipped = []
        for record in records:
            event_type = event_type_of(record.headers)
            if event_type is not None and event_type not in self._engine.handlers:
                skipped.append((event_type, record.topic, "skipped"))
            else:
                messages.append(read(record, self._engine.codec))
        metrics.count(metrics.EVENTS, skipped)
        return messages

    def _one_by_one(self, messages: Iterable[Message | Poison]) -> BatchResult:
        """Finds the event that the database refuses: each gets a transaction of its own."""
        handled: list[Handled] = []
        new_jobs = False
        for message in messages:
            try:
                result = self._transaction([message])
            except StatementError as error:
                if not is_bad_data(error):
                    raise
                result = self._transaction([message], refused=error)
            handled += result.handled
            new_jobs = new_jobs or result.new_jobs
        return BatchResult(handled, new_jobs)

    def _transaction(
        self, messages: Sequence[Message | Poison], refused: Exception | None = None
    ) -> BatchResult:
        spans = TakenSpans(self._group, len(messages))
        now = datetime.now(UTC)
        with self._db.begin() as conn:
            new = inbox.take(conn, messages)
            fresh = _first_of_each(messages, new)
            readable = [message for message in fresh if isinstance(message, Message)]
            keys = {message.event.key for message in readable}
            engine_module.lock_keys(conn, keys)
            blocked = dead_letters.blocked_keys(conn, keys)
            steps = [Step(one.event, one.id, spans.process(one)) for one in readable]
            outcomes: list[Outcome]
            if refused is None:
                outcomes = self._engine.execute(conn, steps, now, spans, blocked)
            else:
                outcomes = [Failed(step, refused) for step in steps]
            letters = _letters(fresh, outcomes, now)
            dead_letters.store(conn, self._engine.service, self._engine.codec, letters, now)
        for outcome in outcomes:
            tracing.annotate(outcome.step.context, **{"saga.outcome": name_of(outcome)})
        spans.finish()
        self._engine.count(outcomes)
        for letter in letters:
            metrics.DEAD_LETTERS.labels(letter.status, letter.reason).inc()
        handled = _handled(messages, fresh, outcomes)
        return BatchResult(handled, engine_module.planned_jobs(outcomes))


def _first_of_each(messages: Sequence[Message | Poison], new: set[UUID]) -> list[Message | Poison]:
    seen: set[UUID] = set()
    fresh = []
    for message in messages:
        if message.id in new and message.id not in seen:
            seen.add(message.id)
            fresh.append(message)
    return fresh


def _letters(
    fresh: Sequence[Message | Poison], outcomes: Sequence[Outcome], now: datetime
) -> list[Letter]:
    by_id = {outcome.step.event.id: outcome for outcome in outcomes}
    letters = []
    for message in fresh:
        if isinstance(message, Poison):
            letters.append(_letter(message, DEAD, message.reason, message.error, now))
            continue
        outcome = by_id[message.id]
        if isinstance(outcome, Failed):
            error = outcome.error
            tracing.fail(outcome.step.context, error)
            text = text_of(error)
            letters.append(_letter(message, DEAD, reason_of(error), text, now))
        elif isinstance(outcome, Behind):
            letters.append(_letter(message, PARKED, PARKED, "behind a dead letter", now))
    return letters


def _letter(
    message: Message | Poison, status: str, reason: str, error: str, now: datetime
) -> Letter:
    key = message.event.key if isinstance(message, Message) else None
    return put_aside(message.id, message.record, message.envelope, key, status, reason, error, now)


def reason_of(error: Exception) -> str:
    """The short label that a failure is grouped by."""
    if isinstance(error, StatementError):
        return "constraint"
    return "encoding" if isinstance(error, EncodingError) else "rule"


def text_of(error: Exception) -> str:
    """What a person is told of a failure; of a database error without the statement."""
    cause = error.orig if isinstance(error, StatementError) else error
    return as_text(f"{type(cause).__name__}: {cause}")


def _handled(
    messages: Sequence[Message | Poison],
    fresh: Sequence[Message | Poison],
    outcomes: Sequence[Outcome],
) -> list[Handled]:
    names = {outcome.step.event.id: name_of(outcome) for outcome in outcomes}
    first = {id(message) for message in fresh}
    handled = []
    for message in messages:
        name = DUPLICATE
        if id(message) in first:
            name = names[message.id] if isinstance(message, Message) else f"dead:{message.reason}"
        elif isinstance(message, Message):
            metrics.EVENTS.labels(message.event.type, message.record.topic, DUPLICATE).inc()
        handled.append(Handled(message, name))
    return handled


def name_of(outcome: Outcome) -> str:
    """What became of a step, for logs and spans."""
    if isinstance(outcome, Done):
        return outcome.decision.outcome
    return f"dead:{reason_of(outcome.error)}" if isinstance(outcome, Failed) else PARKED


def _report(handled: Iterable[Handled]) -> None:
    for line in handled:
        record, envelope = line.message.record, line.message.envelope
        LOG.info(
            "event handled",
            outcome=line.outcome,
            event_type=envelope.event_type if envelope else None,
            key=envelope.subject if envelope else None,
            message_id=str(line.message.id),
            tenant=envelope.tenant_id if envelope else None,
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
            trace_id=tracing.trace_id_of(envelope.traceparent) if envelope else None,
        )
