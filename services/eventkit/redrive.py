"""What a person decides about dead letters: run them again in order, or give one up.

A redrive takes the lock of the key and runs its letters through the same rules, in the order in
which they came, until one fails again. Every decision is recorded with who made it and why.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from opentelemetry.trace import SpanKind
from sqlalchemy.engine import Connection
from sqlalchemy.exc import StatementError

from services.eventkit import db, dead_letters, logs, tables, tracing
from services.eventkit import engine as engine_module
from services.eventkit.batch import reason_of, text_of
from services.eventkit.dead_letters import (
    DISCARDED,
    OPEN,
    PARKED,
    QUARANTINED,
    REDRIVEN,
    Letter,
    letter_of,
)
from services.eventkit.engine import Done, Engine, Outcome, Step
from services.eventkit.records import Message, read

LOG = logs.logger("redrive")
LETTERS = tables.dead_letters
DEFAULT_LIMIT = 5


@dataclass(frozen=True, slots=True)
class Decider:
    """Who decides, and why: both are kept."""

    by: str
    why: str


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one letter: its new status, and the outcome of its rule or its error."""

    letter: Letter
    outcome: str


class NoSuchLetter(LookupError):
    """No open letter has this id or this key."""


class Redrive:
    """Decisions about one service's letters.

    A letter that has failed more than ``limit`` times is quarantined: only a redrive that names
    it or its key runs it again, never one for all.
    """

    def __init__(
        self, database: sa.Engine, engine: Engine[Any], limit: int = DEFAULT_LIMIT
    ) -> None:
        self._db = database
        self._engine = engine
        self._limit = limit

    def letters(
        self,
        *,
        statuses: Sequence[str] = OPEN,
        key: str | None = None,
        reason: str | None = None,
        limit: int = 1000,
    ) -> list[Letter]:
        """Letters in the order in which they came."""
        query = sa.select(LETTERS).where(LETTERS.c.status.in_(statuses))
        if key is not None:
            query = query.where(LETTERS.c.key == key)
        if reason is not None:
            query = query.where(LETTERS.c.reason == reason)
        with self._db.connect() as conn:
            rows = conn.execute(query.order_by(LETTERS.c.seq).limit(limit)).mappings()
            return [letter_of(row) for row in rows]

    def letter(self, message_id: UUID) -> Letter:
        """One letter, open or not. Raises `NoSuchLetter`."""
        with self._db.connect() as conn:
            return _one(conn, message_id)

    def key(self, key: str, decider: Decider) -> list[Result]:
        """Runs all open letters of a key. Raises `NoSuchLetter` where it has none."""
        spans = tracing.SpanBatch()
        with self._db.begin() as conn:
            engine_module.lock_keys(conn, [key])
            results, outcomes = self._run_key(conn, key, spans)
            if not results:
                raise NoSuchLetter(f"no open letter has key {key}")
            _record(conn, decider, "redrive", results)
        self._committed(spans, outcomes, results)
        return results

    def one(self, message_id: UUID, decider: Decider) -> list[Result]:
        """Runs one letter and, since they belong together, the others of its key."""
        letter = self.letter(message_id)
        if letter.status not in OPEN:
            raise NoSuchLetter(f"letter {message_id} is {letter.status}")
        if letter.key is not None:
            return self.key(letter.key, decider)
        spans = tracing.SpanBatch()
        with self._db.begin() as conn:
            result, outcomes = self._run_unread(conn, letter, spans)
            _record(conn, decider, "redrive", [result])
        self._committed(spans, outcomes, [result])
        return [result]

    def everything(self, decider: Decider) -> list[Result]:
        """Runs all open letters that are not quarantined, key by key."""
        letters = self.letters(limit=100_000)
        held = {letter.key for letter in letters if letter.status == QUARANTINED and letter.key}
        results: list[Result] = []
        for letter in letters:
            done = {result.letter.message_id for result in results}
            if letter.message_id in done or letter.key in held or letter.status == QUARANTINED:
                continue
            try:
                results += self.one(letter.message_id, decider)
            except NoSuchLetter:
                continue  # somebody else has just redriven it
        return results

    def discard(self, message_id: UUID, decider: Decider) -> list[Result]:
        """Gives a letter up for good, and runs what was parked behind it."""
        spans = tracing.SpanBatch()
        letter = self.letter(message_id)
        with self._db.begin() as conn:
            if letter.key is not None:
                engine_module.lock_keys(conn, [letter.key])
            letter = _one(conn, message_id)
            if letter.status not in OPEN:
                raise NoSuchLetter(f"letter {message_id} is {letter.status}")
            results = [Result(replace(letter, status=DISCARDED), DISCARDED)]
            self._change(conn, results)
            outcomes: list[Outcome] = []
            if letter.key is not None:
                behind, outcomes = self._run_key(conn, letter.key, spans)
                results += behind
            _record(conn, decider, "discard", results)
        self._committed(spans, outcomes, results)
        return results

    def _run_key(
        self, conn: Connection, key: str, spans: tracing.SpanBatch
    ) -> tuple[list[Result], list[Outcome]]:
        query = (
            sa.select(LETTERS)
            .where(LETTERS.c.key == key, LETTERS.c.status.in_(OPEN))
            .order_by(LETTERS.c.seq)
        )
        letters = [letter_of(row) for row in conn.execute(query).mappings()]
        results: list[Result] = []
        outcomes: list[Outcome] = []
        for letter in letters:
            result, outcome = self._try(conn, letter, spans)
            results.append(result)
            if outcome is None:
                break
            outcomes.append(outcome)
        results += [Result(letter, letter.status) for letter in letters[len(results) :]]
        self._change(conn, results[: len(outcomes) + 1])
        return results, outcomes

    def _run_unread(
        self, conn: Connection, letter: Letter, spans: tracing.SpanBatch
    ) -> tuple[Result, list[Outcome]]:
        """A letter nobody could read: it may be readable now, and then has a key."""
        message = read(letter.record, self._engine.codec)
        if isinstance(message, Message):
            key = message.event.key
            engine_module.lock_keys(conn, [key])
            letter = replace(letter, key=key)
            if dead_letters.blocked_keys(conn, [key]):
                result = Result(replace(letter, status=PARKED, reason=PARKED), PARKED)
                self._change(conn, [result])
                return result, []
        result, outcome = self._try(conn, letter, spans)
        self._change(conn, [result])
        return result, [outcome] if outcome else []

    def _try(
        self, conn: Connection, letter: Letter, spans: tracing.SpanBatch
    ) -> tuple[Result, Outcome | None]:
        """Runs one letter in a savepoint; the outcome is None where it failed again."""
        message = read(letter.record, self._engine.codec)
        if not isinstance(message, Message):
            return self._failed(letter, message.reason, message.error), None
        if message.event.type not in self._engine.handlers:
            return self._failed(letter, "unknown_type", "no rule handles this event"), None
        step = _step(message, spans, self._engine.service)
        try:
            with conn.begin_nested():
                (outcome,) = self._engine.execute(conn, [step], datetime.now(UTC), spans)
                if not isinstance(outcome, Done):
                    raise getattr(outcome, "error", RuntimeError("not run"))
        except StatementError as error:
            if not db.is_bad_data(error):
                raise
            return self._failed(letter, reason_of(error), text_of(error)), None
        except Exception as error:
            return self._failed(letter, reason_of(error), text_of(error)), None
        done = replace(letter, status=REDRIVEN, attempts=letter.attempts + 1)
        return Result(done, outcome.decision.outcome), outcome

    def _failed(self, letter: Letter, reason: str, error: str) -> Result:
        again = letter.failed_again(reason, error, self._limit)
        return Result(again, f"{again.status}:{reason}")

    def _change(self, conn: Connection, results: Sequence[Result]) -> None:
        letters = [result.letter for result in results]
        now = datetime.now(UTC)
        dead_letters.change(conn, self._engine.service, self._engine.codec, letters, now)

    def _committed(
        self, spans: tracing.SpanBatch, outcomes: Sequence[Outcome], results: Sequence[Result]
    ) -> None:
        spans.finish()
        self._engine.count(outcomes)
        for result in results:
            LOG.info(
                "letter decided",
                message_id=str(result.letter.message_id),
                key=result.letter.key,
                tenant=result.letter.tenant_id,
                status=result.letter.status,
                outcome=result.outcome,
            )


def _one(conn: Connection, message_id: UUID) -> Letter:
    query = sa.select(LETTERS).where(LETTERS.c.message_id == message_id)
    row = conn.execute(query).mappings().one_or_none()
    if row is None:
        raise NoSuchLetter(f"there is no letter {message_id}")
    return letter_of(row)


def _step(message: Message, spans: tracing.SpanBatch, service: str) -> Step:
    context = spans.start(
        f"redrive {message.record.topic}",
        SpanKind.CONSUMER,
        tracing.context_of(message.envelope.traceparent),
        lambda: {
            "messaging.system": "kafka",
            "messaging.destination.name": message.record.topic,
            "messaging.consumer.group.name": service,
            "messaging.message.id": str(message.id),
            "saga.event_type": message.event.type,
        },
    )
    return Step(message.event, message.id, context)


def _record(conn: Connection, decider: Decider, action: str, results: Sequence[Result]) -> None:
    rows = [
        {
            "made_by": decider.by,
            "action": action,
            "subject": str(result.letter.message_id),
            "why": decider.why,
            "outcome": result.outcome,
        }
        for result in results
    ]
    db.insert_rows(conn, tables.decisions, rows)
