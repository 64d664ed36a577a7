"""The routes by which people look at, redrive and discard what a service has put aside."""

from base64 import b64encode
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field, model_validator
from sqlalchemy.engine import Connection

from services.eventkit import db, jobs, tables
from services.eventkit.access import operator
from services.eventkit.dead_letters import OPEN, Letter
from services.eventkit.engine import Engine
from services.eventkit.http import OFTEN, Problem, problem_responses
from services.eventkit.redrive import Decider, NoSuchLetter, Redrive, Result

Status = Literal["dead", "parked", "quarantined", "redriven", "discarded"]
JobStatus = Literal["pending", "running", "succeeded", "failed", "dead", "cancelled"]


class Decision(BaseModel):
    """Who decides and why; both are kept for ever."""

    model_config = ConfigDict(extra="forbid")

    by: str = Field(min_length=1, max_length=100, examples=["anna"])
    why: str = Field(min_length=1, max_length=500, examples=["the rule was mended in 1.2.1"])


class RedriveIn(Decision):
    """What to run again: one letter, all of a key, or everything that is not quarantined."""

    message_id: UUID | None = None
    key: str | None = Field(default=None, min_length=1)
    everything: bool = False

    @model_validator(mode="after")
    def _one_choice(self) -> "RedriveIn":
        if (self.message_id is not None) + (self.key is not None) + self.everything != 1:
            raise ValueError("give exactly one of message_id, key and everything")
        return self


class LetterOut(BaseModel):
    """A record put aside. ``first_error`` and ``last_error`` are texts for people."""

    message_id: UUID
    key: str | None
    tenant_id: str
    event_type: str | None
    topic: str
    partition: int
    offset: int
    status: Status
    reason: str
    first_error: str
    last_error: str
    attempts: int
    failed_at: datetime


class Header(BaseModel):
    """One header as read; a value that is no text is shown as Python writes bytes."""

    name: str
    value: str | None


class WholeLetterOut(LetterOut):
    """A letter with its record: ``value`` in base64, ``fields`` where it can be decoded."""

    headers: list[Header]
    value: str | None
    fields: dict[str, Any] | None


class LettersOut(BaseModel):
    """Letters in the order in which they came, and how many there are of each reason."""

    letters: list[LetterOut]
    by_reason: dict[str, int]


class ResultOut(BaseModel):
    """What became of a letter."""

    message_id: UUID
    key: str | None
    status: Status
    outcome: str


class JobOut(BaseModel):
    """A job: what it is for, how often it was tried, and what went wrong last."""

    job_id: UUID
    key: str
    kind: str
    status: JobStatus
    attempts: int
    redrives: int
    run_at: datetime
    last_error: str | None
    tenant_id: str


def operators_router() -> APIRouter:
    """A router below ``/operations``: for operators alone, whosever order it is about."""
    return APIRouter(
        prefix="/operations",
        tags=["operations"],
        dependencies=[Depends(operator)],
        responses={**OFTEN, **problem_responses(401, 403)},
    )


def keep(conn: Connection, decision: Decision, action: str, subject: str, outcome: str) -> None:
    """Keeps what was decided, in the caller's transaction."""
    row = {
        "made_by": decision.by,
        "action": action,
        "subject": subject,
        "why": decision.why,
        "outcome": outcome,
    }
    db.insert_rows(conn, tables.decisions, [row])


def routes(database: sa.Engine, engine: Engine[Any]) -> APIRouter:
    """The routes, below ``/operations``."""
    router = operators_router()
    redrive = Redrive(database, engine)

    @router.get("/dead-letters")
    def letters(
        status: Annotated[list[Status] | None, Query()] = None,
        key: str | None = None,
        reason: str | None = None,
        limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
    ) -> LettersOut:
        """The letters that are open, or have the given statuses."""
        found = redrive.letters(statuses=status or OPEN, key=key, reason=reason, limit=limit)
        return LettersOut(
            letters=[_shown(letter) for letter in found],
            by_reason=dict(Counter(letter.reason for letter in found)),
        )

    @router.get("/dead-letters/{message_id}", responses=problem_responses(404))
    def letter(message_id: UUID) -> WholeLetterOut:
        """One letter with its record."""
        try:
            return _whole(redrive.letter(message_id), engine)
        except NoSuchLetter as error:
            raise Problem(404, "not-found", str(error)) from error

    @router.post("/dead-letters/redrive", responses=problem_responses(404))
    def run_again(wanted: RedriveIn) -> list[ResultOut]:
        """Runs letters through the rules again, those of one key in order, until one fails."""
        decider = Decider(wanted.by, wanted.why)
        try:
            if wanted.message_id:
                results = redrive.one(wanted.message_id, decider)
            elif wanted.key:
                results = redrive.key(wanted.key, decider)
            else:
                results = redrive.everything(decider)
        except NoSuchLetter as error:
            raise Problem(404, "not-found", str(error)) from error
        return _results(results)

    @router.post("/dead-letters/{message_id}/discard", responses=problem_responses(404))
    def discard(message_id: UUID, decision: Decision) -> list[ResultOut]:
        """Gives a letter up for good, and runs what was parked behind it."""
        try:
            return _results(redrive.discard(message_id, Decider(decision.by, decision.why)))
        except NoSuchLetter as error:
            raise Problem(404, "not-found", str(error)) from error

    @router.get("/jobs")
    def list_jobs(
        status: Annotated[list[JobStatus] | None, Query()] = None,
        key: str | None = None,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    ) -> list[JobOut]:
        """Jobs that wait, run or are dead, or have the given statuses; the oldest first."""
        table = jobs.JOBS
        query = sa.select(table).where(table.c.status.in_(status or ("pending", "running", "dead")))
        if key is not None:
            query = query.where(table.c.key == key)
        with database.connect() as conn:
            rows = conn.execute(query.order_by(table.c.run_at).limit(limit)).mappings()
            return [JobOut(**{name: row[name] for name in JobOut.model_fields}) for row in rows]

    @router.post("/jobs/{job_id}/redrive", responses=problem_responses(404))
    def redrive_job(job_id: UUID, decision: Decision) -> JobOut:
        """Starts a dead or failed job over; the remote knows it by the same key."""
        with database.begin() as conn:
            if jobs.redrive(conn, job_id, datetime.now(UTC)) is None:
                raise Problem(404, "not-found", f"There is no dead or failed job {job_id}.")
            keep(conn, decision, "redrive_job", str(job_id), "pending")
            job = conn.execute(sa.select(jobs.JOBS).where(jobs.JOBS.c.job_id == job_id))
            found = job.mappings().one()
        return JobOut(**{name: found[name] for name in JobOut.model_fields})

    return router


def _shown(letter: Letter) -> LetterOut:
    return LetterOut(**_fields(letter))


def _whole(letter: Letter, engine: Engine[Any]) -> WholeLetterOut:
    record = letter.record
    try:
        fields = engine.codec.decode(letter.event_type or "", record.value)
    except Exception:
        fields = None  # it is a dead letter: that it cannot be decoded may be why
    return WholeLetterOut(
        **_fields(letter),
        headers=[Header(name=name, value=_text(value)) for name, value in record.headers],
        value=None if record.value is None else b64encode(record.value).decode(),
        fields=fields,
    )


def _fields(letter: Letter) -> dict[str, Any]:
    place = {
        "topic": letter.record.topic,
        "partition": letter.record.partition,
        "offset": letter.record.offset,
    }
    names = LetterOut.model_fields.keys() - place.keys()
    return place | {name: getattr(letter, name) for name in names}


def _text(value: bytes | None) -> str | None:
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return repr(value)


def _results(results: Sequence[Result]) -> list[ResultOut]:
    return [
        ResultOut(
            message_id=result.letter.message_id,
            key=result.letter.key,
            status=result.letter.status,  # type: ignore[arg-type]
            outcome=result.outcome,
        )
        for result in results
    ]
