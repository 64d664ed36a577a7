"""Jobs: what waits for the outside world, as rows of the transaction that wanted it.

A worker claims due rows in a short transaction (``SKIP LOCKED``) and holds them by a lease; the
call runs outside any transaction; the result goes through the rules under the lock of its key,
fenced by who claimed it and at which attempt. A crash leaves a lease that runs out, unless somebody
knows that its worker is dead (`orphans`).
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.engine import Connection
from sqlalchemy.exc import SQLAlchemyError

from services.eventkit import db, tables

JOBS = tables.jobs
_ERROR_LENGTH = 500


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job to store; times in UTC."""

    job_id: UUID
    key: str
    kind: str
    args: Mapping[str, Any]
    priority: int
    run_at: datetime
    tenant_id: str
    actor_id: str
    correlation_id: str
    causation_id: str | None
    traceparent: str | None
    redrives: int = 0


@dataclass(frozen=True, slots=True)
class Claimed:
    """A job that this worker holds until its lease ends; ``attempt`` counts from 1."""

    row: JobRow
    attempt: int


@dataclass(frozen=True, slots=True)
class JobContext:
    """What the outside call of a job may know; ``attempt`` counts from 1, again at each redrive."""

    key: str
    args: Mapping[str, Any]
    attempt: int
    tenant_id: str
    redrives: int = 0

    @property
    def asked_before(self) -> bool:
        """True where an earlier call may have reached the outside, with an unknown outcome."""
        return self.attempt > 1 or self.redrives > 0


@dataclass(frozen=True, slots=True)
class Ending:
    """How a job ends: ``status`` is succeeded, failed or dead."""

    job: Claimed
    status: str
    error: str | None


STORING_SECONDS = 20.0
"""For how long a worker tries to store a result: the call's lease outlasts it by that much."""

Call = Callable[[JobContext], Mapping[str, Any]]


class Refused(Exception):
    """The outside refused for good what was asked (422, a 5xx of SMTP): the job ends as failed."""


class RetryLater(Exception):
    """The outside failed or did not answer: the attempt is used up, the outcome is unknown."""


class Postpone(Exception):
    """The outside could not be reached at all: try later, no attempt is used up."""


@contextmanager
def needing(what: str) -> Iterator[None]:
    """Around what a call reads of its own database first; without it, nothing was asked outside."""
    try:
        yield
    except SQLAlchemyError as error:
        raise Postpone(f"no {what}: {type(error).__name__}") from None


@dataclass(frozen=True, slots=True)
class JobKind:
    """How one kind of job is done.

    ``call`` None means that the time itself is the result (a deadline). ``remote`` names what it
    calls: each remote has its own workers, so a slow one takes none from the others.
    ``max_attempts`` None asks again for ever: an unknown outcome is never taken for a refusal.
    ``timeout`` is the longest the call can take, in seconds; the lease outlasts it.
    """

    name: str
    call: Call | None = None
    remote: str = "local"
    max_attempts: int | None = 8
    timeout: float = 10.0
    backoff_base: float = 0.2
    backoff_cap: float = 30.0

    @property
    def lease(self) -> timedelta:
        """How long a claim holds: the call, and time to store its result."""
        return timedelta(seconds=self.timeout + STORING_SECONDS)


_ROW = tuple(JobRow.__dataclass_fields__)
_NOW = sa.bindparam("now", type_=JOBS.c.run_at.type)
_DUE = (
    sa.select(JOBS.c.job_id)
    .where(
        JOBS.c.kind == sa.any_(sa.bindparam("kinds", type_=ARRAY(sa.Text))),
        sa.or_(
            sa.and_(JOBS.c.status == "pending", JOBS.c.run_at <= _NOW),
            sa.and_(JOBS.c.status == "running", JOBS.c.locked_until < _NOW),
        ),
    )
    .order_by(JOBS.c.priority, JOBS.c.run_at)
    .limit(sa.bindparam("limit", type_=sa.Integer))
    .with_for_update(skip_locked=True)
    .cte("due")  # a plain subquery may be run again for each row, past its limit
)
_CLAIM = (
    sa.update(JOBS)
    .where(JOBS.c.job_id == _DUE.c.job_id)
    .values(
        status="running",
        attempts=JOBS.c.attempts + 1,
        locked_by=sa.bindparam("worker", type_=sa.Text),
        locked_until=sa.bindparam("until", type_=JOBS.c.locked_until.type),
    )
    .returning(*[JOBS.c[name] for name in _ROW], JOBS.c.attempts)
)


def _held(job_id: Any, attempt: Any, redrives: Any) -> sa.ColumnElement[bool]:
    """The fence: only ``:worker``, the holder of this very attempt, may say how it ended.

    A redrive counts attempts from 1 again, so the redrives count too.
    """
    return sa.and_(
        JOBS.c.job_id == job_id,
        JOBS.c.attempts == attempt,
        JOBS.c.redrives == redrives,
        JOBS.c.locked_by == sa.bindparam("worker", type_=sa.Text),
        JOBS.c.status == "running",
    )


_ENDED = (
    sa.func.unnest(
        sa.bindparam("all_ids", type_=ARRAY(sa.Uuid)),
        sa.bindparam("all_attempts", type_=ARRAY(sa.Integer)),
        sa.bindparam("all_redrives", type_=ARRAY(sa.Integer)),
        sa.bindparam("all_statuses", type_=ARRAY(sa.Text)),
        sa.bindparam("all_errors", type_=ARRAY(sa.Text)),
    )
    .table_valued("job_id", "attempt", "redrives", "status", "error", name="ended")
    .render_derived()
)
_END = (
    sa.update(JOBS)
    .where(_held(_ENDED.c.job_id, _ENDED.c.attempt, _ENDED.c.redrives))
    .values(
        status=_ENDED.c.status,
        last_error=_ENDED.c.error,
        finished_at=sa.func.now(),
        locked_by=None,
        locked_until=None,
    )
)


def add(conn: Connection, rows: Sequence[JobRow]) -> None:
    """Stores new jobs in one statement."""
    db.insert_rows(conn, JOBS, [asdict(row) | {"status": "pending", "attempts": 0} for row in rows])


def cancel(conn: Connection, jobs: Collection[tuple[str, str]]) -> None:
    """Cancels the waiting jobs of these (key, kind); one that runs is left to its result."""
    if not jobs:
        return
    keys, kinds = zip(*sorted(jobs), strict=True)
    wanted = (
        sa.func.unnest(
            sa.bindparam("keys", list(keys), ARRAY(sa.Text)),
            sa.bindparam("kinds", list(kinds), ARRAY(sa.Text)),
        )
        .table_valued("key", "kind", name="wanted")
        .render_derived()
    )
    conn.execute(
        sa.update(JOBS)
        .where(JOBS.c.key == wanted.c.key, JOBS.c.kind == wanted.c.kind, JOBS.c.status == "pending")
        .values(status="cancelled", finished_at=sa.func.now())
    )


def claim(
    conn: Connection, kinds: Sequence[JobKind], worker: str, now: datetime, limit: int
) -> list[Claimed]:
    """Takes up to ``limit`` due jobs of these kinds, also those whose lease has run out."""
    wanted = {
        "kinds": [kind.name for kind in kinds],
        "now": now,
        "until": now + max(kind.lease for kind in kinds),
        "worker": worker,
        "limit": limit,
    }
    taken = conn.execute(_CLAIM, wanted).mappings()
    return [Claimed(JobRow(**{name: row[name] for name in _ROW}), row["attempts"]) for row in taken]


def release(
    conn: Connection, job: Claimed, worker: str, run_at: datetime, error: str, *, used: bool
) -> bool:
    """Gives a job back for a later attempt; ``used`` False gives the attempt back too."""
    released = (
        sa.update(JOBS)
        .where(_held(job.row.job_id, job.attempt, job.row.redrives))
        .values(
            status="pending",
            run_at=run_at,
            attempts=job.attempt if used else job.attempt - 1,
            last_error=_kept(error),
            locked_by=None,
            locked_until=None,
        )
    )
    return conn.execute(released, {"worker": worker}).rowcount == 1


def end(conn: Connection, endings: Sequence[Ending], worker: str) -> bool:
    """Ends jobs in one statement; False where a successor has taken one of them over."""
    values = {
        "all_ids": [ending.job.row.job_id for ending in endings],
        "all_attempts": [ending.job.attempt for ending in endings],
        "all_redrives": [ending.job.row.redrives for ending in endings],
        "all_statuses": [ending.status for ending in endings],
        "all_errors": [_kept(ending.error) for ending in endings],
        "worker": worker,
    }
    return conn.execute(_END, values).rowcount == len(endings)


def redrive(conn: Connection, job_id: UUID, now: datetime) -> JobRow | None:
    """Starts a dead or failed job over; None where there is no such job.

    Its result is then a new one: the count of redrives is part of the result's id.
    """
    row = (
        conn.execute(
            sa.update(JOBS)
            .where(JOBS.c.job_id == job_id, JOBS.c.status.in_(("dead", "failed")))
            .values(
                status="pending",
                run_at=now,
                attempts=0,
                finished_at=None,
                redrives=JOBS.c.redrives + 1,
            )
            .returning(*[JOBS.c[name] for name in _ROW])
        )
        .mappings()
        .one_or_none()
    )
    return JobRow(**row) if row else None


def workers(conn: Connection) -> Sequence[str]:
    """The workers that hold jobs."""
    query = sa.select(JOBS.c.locked_by).where(JOBS.c.status == "running").distinct()
    return conn.execute(query).scalars().all()


def release_all(conn: Connection, worker: str) -> int:
    """Gives back all that a worker holds that has ended, so that nobody waits for its leases."""
    result = conn.execute(
        sa.update(JOBS)
        .where(JOBS.c.locked_by == worker, JOBS.c.status == "running")
        .values(status="pending", locked_by=None, locked_until=None)
    )
    return result.rowcount


def _kept(error: str | None) -> str | None:
    return None if error is None else db.as_text(error)[:_ERROR_LENGTH]
