"""The worker: claims due jobs, makes their outside calls, and hands the results to the rules."""

import contextlib
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
import tenacity
from circuitbreaker import CircuitBreaker
from opentelemetry.trace import SpanKind
from sqlalchemy.exc import SQLAlchemyError

from services.eventkit import db as database
from services.eventkit import engine as engine_module
from services.eventkit import jobs, logs, metrics, orphans, tracing, trouble
from services.eventkit.batch import name_of
from services.eventkit.dead_letters import DEAD
from services.eventkit.decision import ATTEMPTS_EXHAUSTED
from services.eventkit.engine import Engine
from services.eventkit.jobs import Claimed, JobContext, JobKind, Postpone, Refused, RetryLater
from services.eventkit.results import LostLease, Results, result_of

LOG = logs.logger("worker")
_BREAKER_FAILURES = 10
_BREAKER_SECONDS = 3


@dataclass
class Worker:
    """Does a service's jobs; each remote has its own threads, so a slow one slows no other.

    ``slots`` is how many calls to one remote may be under way at once.
    """

    db: sa.Engine
    engine: Engine[Any]
    kinds: Sequence[JobKind]
    poll: float = 0.25
    slots: int = 8
    wake: threading.Event = field(default_factory=threading.Event)
    ticked: float = field(default_factory=time.monotonic)
    _stop: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.name = orphans.worker_name()
        self._results = Results(self.db, self.engine, self.name)
        self._by_name = {kind.name: kind for kind in self.kinds}
        remotes: dict[str, list[JobKind]] = defaultdict(list)
        for kind in self.kinds:
            remotes[kind.remote].append(kind)
        self._pools = {
            name: _Pool(
                name, kinds, ThreadPoolExecutor(self.slots, thread_name_prefix=f"job-{name}")
            )
            for name, kinds in remotes.items()
        }

    def run(self, stop: threading.Event) -> None:
        """Works until ``stop`` is set, then lets the calls under way finish."""
        self._stop = stop
        while not stop.is_set():
            self.ticked = time.monotonic()
            self.wake.clear()
            try:
                taken = sum(self._take(pool) for pool in self._pools.values())
            except SQLAlchemyError as error:
                metrics.RETRIES.labels("worker").inc()
                trouble.tell(LOG, error, "claiming again soon")
                stop.wait(1.0)
                continue
            if not taken:
                self.wake.wait(self.poll)
        for pool in self._pools.values():
            pool.executor.shutdown(wait=True, cancel_futures=True)
        with contextlib.suppress(SQLAlchemyError), self.db.begin() as conn:
            jobs.release_all(conn, self.name)

    def _take(self, pool: "_Pool") -> int:
        free = pool.free(self.slots)
        if free <= 0:
            return 0
        with self.db.begin() as conn:
            claimed = jobs.claim(conn, pool.kinds, self.name, datetime.now(UTC), free)
        pool.full = len(claimed) == free
        for job in claimed:
            pool.enter()
            pool.executor.submit(self._run, job, pool)
        return len(claimed)

    def _run(self, job: Claimed, pool: "_Pool") -> None:
        try:
            self._attempt(job, self._by_name[job.row.kind])
        except LostLease:
            LOG.warning("lease lost, result discarded", **_fields(job))
        except Exception as error:
            # The lease runs out and the job is claimed again: nothing is lost.
            LOG.exception("job result not stored", error=str(error)[:200], **_fields(job))
        finally:
            pool.leave()
            if pool.full:
                self.wake.set()

    def _attempt(self, job: Claimed, kind: JobKind) -> None:
        parent = tracing.context_of(job.row.traceparent)
        attributes = {"saga.job.kind": kind.name, "saga.job.attempt": job.attempt}
        with tracing.span(f"job {kind.name}", SpanKind.INTERNAL, parent, attributes):
            started = time.monotonic()
            try:
                data = self._call(job, kind)
            except Refused as error:
                reason = {"reason": str(error)}
                self._stored(job, lambda: self._complete(job, "failed", reason))
            except Postpone as error:
                later = error
                self._stored(job, lambda: self._give_back(job, kind, later, used=False))
            except Exception as error:
                failure = error
                self._stored(job, lambda: self._failed_attempt(job, kind, failure))
            else:
                self._stored(job, lambda: self._complete(job, "succeeded", data))
            finally:
                metrics.JOB_SECONDS.labels(kind.name).observe(time.monotonic() - started)

    def _call(self, job: Claimed, kind: JobKind) -> Mapping[str, Any]:
        """Makes the outside call, unless every attempt ended without a result.

        It may be the call that kills its worker, or the result that nobody can store: then it would
        be made again with every lease, for ever.
        """
        if kind.max_attempts is not None and job.attempt > kind.max_attempts:
            raise RetryLater("no attempt had a result")
        return self._pools[kind.remote].call(kind, job)

    def _stored(self, job: Claimed, store: Callable[[], None]) -> None:
        """Tries again while the database is away: only this thread knows what the remote did.

        Without it the call would be made again when the lease ends, and a mail has no key that
        keeps the second from arriving.
        """

        def told(state: tenacity.RetryCallState) -> None:
            metrics.RETRIES.labels("worker").inc()
            if state.outcome and (error := state.outcome.exception()):
                trouble.tell(LOG, error, "a result waits to be stored", **_fields(job))

        attempts = tenacity.Retrying(
            retry=tenacity.retry_if_exception(_is_away),
            wait=tenacity.wait_random_exponential(multiplier=0.2, max=2),
            stop=tenacity.stop_any(
                tenacity.stop_after_delay(jobs.STORING_SECONDS),
                tenacity.stop_when_event_set(self._stop),
            ),
            before_sleep=told,
            reraise=True,
        )
        attempts(store)

    def _failed_attempt(self, job: Claimed, kind: JobKind, error: Exception) -> None:
        if not isinstance(error, RetryLater):
            LOG.exception("job call raised", **_fields(job))
        if kind.max_attempts is not None and job.attempt >= kind.max_attempts:
            self._complete(job, "dead", {"reason": ATTEMPTS_EXHAUSTED}, str(error))
        else:
            self._give_back(job, kind, error, used=True)

    def _give_back(self, job: Claimed, kind: JobKind, error: Exception, *, used: bool) -> None:
        delay = backoff(kind, job.attempt)
        run_at = datetime.now(UTC) + timedelta(seconds=delay)
        with self.db.begin() as conn:
            jobs.release(conn, job, self.name, run_at, str(error), used=used)
        result = "retry" if used else "postponed"
        metrics.JOBS.labels(kind.name, result).inc()
        LOG.warning(
            "job later",
            outcome=result,
            delay=round(delay, 2),
            error=str(error)[:200],
            **_fields(job),
        )

    def _complete(
        self, job: Claimed, status: str, data: Mapping[str, Any], error: str | None = None
    ) -> None:
        stored = self._results.store(result_of(self.engine.service, job, status, data, error))
        ending, outcome = stored.ending, stored.outcome
        metrics.JOBS.labels(job.row.kind, ending.status).inc()
        log = LOG.error if ending.status == DEAD else LOG.info
        named = name_of(outcome)
        log("job done", status=ending.status, outcome=named, error=ending.error, **_fields(job))
        if engine_module.planned_jobs([outcome]):
            self.wake.set()


class _Pool:
    """The bulkhead of one remote: its threads, how many are busy, and its circuit breaker.

    ``full`` means that more jobs may be due than it had threads for.

    An open breaker claims nothing, so the jobs wait without using attempts; half open it claims
    one, and its result decides.
    """

    def __init__(self, remote: str, kinds: Sequence[JobKind], executor: ThreadPoolExecutor) -> None:
        self.remote = remote
        self.kinds = kinds
        self.executor = executor
        self.full = False
        self._busy = 0
        self._lock = threading.Lock()
        self._breaker = CircuitBreaker(
            failure_threshold=_BREAKER_FAILURES,
            recovery_timeout=_BREAKER_SECONDS,
            expected_exception=lambda kind, _: not issubclass(kind, Refused),
            name=remote,
        )

    def free(self, slots: int) -> int:
        """How many more jobs may be claimed now."""
        state = self._breaker.state
        metrics.BREAKER_OPEN.labels(self.remote).set(state != "closed")
        if state == "open":
            return 0
        return (1 if state == "half_open" else slots) - self._busy

    def call(self, kind: JobKind, job: Claimed) -> Mapping[str, Any]:
        """Makes the outside call, and lets the breaker see how it ends."""
        if kind.call is None:
            return {}
        with self._breaker:
            row = job.row
            context = JobContext(row.key, row.args, job.attempt, row.tenant_id, row.redrives)
            return kind.call(context)

    def enter(self) -> None:
        with self._lock:
            self._busy += 1

    def leave(self) -> None:
        with self._lock:
            self._busy -= 1


def _is_away(error: BaseException) -> bool:
    """True where the database is at fault, not what was to be written."""
    return isinstance(error, SQLAlchemyError) and not database.is_bad_data(error)


def backoff(kind: JobKind, attempt: int) -> float:
    """Seconds to wait: exponential with full jitter (AWS Architecture Blog, 2015)."""
    ceiling = min(kind.backoff_cap, kind.backoff_base * 2 ** min(attempt, 16))
    return random.uniform(ceiling / 20, ceiling)


def _fields(job: Claimed) -> dict[str, Any]:
    row = job.row
    return {
        "job": str(row.job_id),
        "kind": row.kind,
        "key": row.key,
        "tenant": row.tenant_id,
        "attempt": job.attempt,
    }
