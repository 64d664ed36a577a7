"""Results: what the outside said goes through the rules and is stored, all that wait in one go.

Calls end on many threads. Whoever comes first stores; what comes meanwhile is stored together by
the next, in one transaction (group commit), so that the writes an order costs fall as load grows.
"""

import json
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.exc import StatementError

from services.eventkit import dead_letters, jobs, tracing
from services.eventkit import engine as engine_module
from services.eventkit.batch import text_of
from services.eventkit.db import is_bad_data
from services.eventkit.dead_letters import DEAD, Letter
from services.eventkit.decision import Event
from services.eventkit.engine import Engine, Failed, Outcome, Step
from services.eventkit.ids import derived
from services.eventkit.jobs import Claimed, Ending
from services.eventkit.records import RawRecord


class LostLease(Exception):
    """A successor took the job over while it ran: this result is discarded."""


@dataclass(frozen=True, slots=True)
class Result:
    """How the call of a job went; ``status`` is succeeded, failed or dead."""

    job: Claimed
    step: Step
    status: str
    error: str | None


@dataclass(frozen=True, slots=True)
class Stored:
    """What was made of a result: the job's ending, and the outcome of its rule."""

    ending: Ending
    outcome: Outcome


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    result: Result
    stored: "Future[Stored]"


class Results:
    """Stores the results of one worker; called from the threads that made the calls."""

    def __init__(self, db: sa.Engine, engine: Engine[Any], worker: str) -> None:
        self._db = db
        self._engine = engine
        self._worker = worker
        self._waiting: list[_Waiting] = []
        self._taking = threading.Lock()
        self._storing = threading.Lock()

    def store(self, result: Result) -> Stored:
        """Runs the rule for a result and ends its job; returns once that is committed.

        Where the rule raises, or the database refuses what it wants written, the job is dead:
        making the call again would only bring the same result. Raises `LostLease`, or what an
        infrastructure fault raises; then nothing of it has happened.
        """
        mine = _Waiting(result, Future())
        with self._taking:
            self._waiting.append(mine)
        with self._storing:
            # More than once where another result of the same key is before this one.
            while not mine.stored.done():
                self._store(self._take())
        return mine.stored.result()

    def _take(self) -> list[_Waiting]:
        """The first of each key: a rule that raises must not stand before another result."""
        with self._taking:
            first: dict[str, _Waiting] = {}
            for one in self._waiting:
                first.setdefault(one.result.job.row.key, one)
            taken = list(first.values())
            self._waiting = [one for one in self._waiting if one not in taken]
        return taken

    def _store(self, waiting: Sequence[_Waiting], refused: Exception | None = None) -> None:
        try:
            stored = self._transaction([one.result for one in waiting], refused)
        except Exception as error:
            bad = isinstance(error, StatementError) and is_bad_data(error)
            if len(waiting) > 1 and (bad or isinstance(error, LostLease)):
                # One that cannot be stored must not take the others with it.
                for one in waiting:
                    self._store([one])
            elif bad and refused is None:
                self._store(waiting, refused=error)
            else:
                for one in waiting:
                    one.stored.set_exception(error)
        else:
            for one, done in zip(waiting, stored, strict=True):
                one.stored.set_result(done)

    def _transaction(self, results: Sequence[Result], refused: Exception | None) -> list[Stored]:
        steps = [result.step for result in results]
        spans = tracing.SpanBatch()
        now = datetime.now(UTC)
        outcomes: Sequence[Outcome]
        with self._db.begin() as conn:
            engine_module.lock_keys(conn, {step.event.key for step in steps})
            if refused is None:
                outcomes = self._engine.execute(conn, steps, now, spans)
            else:
                outcomes = [Failed(step, refused) for step in steps]
            endings = [_ending(*pair) for pair in zip(results, outcomes, strict=True)]
            if not jobs.end(conn, endings, self._worker):
                raise LostLease
            service, codec = self._engine.service, self._engine.codec
            letters = [_letter(service, one, now) for one in endings if one.status == DEAD]
            dead_letters.mirror(conn, service, codec, letters, now)
        spans.finish()
        self._engine.count(outcomes)
        return [Stored(*pair) for pair in zip(endings, outcomes, strict=True)]


def result_of(
    service: str, job: Claimed, status: str, data: Mapping[str, Any], error: str | None = None
) -> Result:
    """The result as an input of the rules; ``asked`` in it is what the job was given."""
    row = job.row
    suffix = "succeeded" if status == "succeeded" else "failed"
    event = Event(
        id=derived(service, row.job_id, "result", row.redrives),
        type=f"{row.kind}.{suffix}",
        key=row.key,
        data={**data, "asked": row.args},
        tenant_id=row.tenant_id,
        actor_id=row.actor_id,
        correlation_id=row.correlation_id,
        time=datetime.now(UTC),
        source="job",
    )
    causation_id = UUID(row.causation_id) if row.causation_id else None
    step = Step(event, causation_id, tracing.current())
    return Result(job, step, status, error or data.get("reason"))


def _ending(result: Result, outcome: Outcome) -> Ending:
    if isinstance(outcome, Failed):
        # What we do with the result is at fault, not the remote: a person has to look.
        return Ending(result.job, DEAD, text_of(outcome.error))
    return Ending(result.job, result.status, result.error)


def _letter(service: str, ending: Ending, now: datetime) -> Letter:
    """A dead job as a letter on the dlq topic; the row to redrive is the job itself."""
    row, error = ending.job.row, ending.error or ""
    args = json.dumps(dict(row.args)).encode()
    record = RawRecord(f"{service}.jobs", 0, row.redrives, row.key.encode(), args, [])
    return Letter(
        message_id=row.job_id,
        record=record,
        key=row.key,
        tenant_id=row.tenant_id,
        event_type=row.kind,
        status=DEAD,
        reason="job",
        first_error=error,
        last_error=error,
        attempts=ending.job.attempt,
        failed_at=now,
    )
