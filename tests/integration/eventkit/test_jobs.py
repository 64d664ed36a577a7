"""Jobs: claimed once, held by a lease, fenced, retried, and their results decided by rules."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from infra.local.waiting import until
from services.eventkit import jobs, trouble
from services.eventkit.jobs import (
    Ending,
    JobContext,
    JobKind,
    JobRow,
    Postpone,
    Refused,
    RetryLater,
)
from services.eventkit.worker import Worker, backoff
from tests.integration.eventkit.toy import CODEC, make_engine, without_counters
from tests.live_stack import Ground

NOW = datetime.now(UTC)
KIND = JobKind("call", backoff_base=0.01, backoff_cap=0.05, max_attempts=3)


def job(key: str = "a", run_at: datetime = NOW, priority: int = 100) -> JobRow:
    """A job to store."""
    return JobRow(
        uuid4(), key, "call", {}, priority, run_at, "demo", "customer-1", "request-1", None, None
    )


def add(database: sa.Engine, *rows: JobRow) -> None:
    """Stores jobs."""
    with database.begin() as conn:
        jobs.add(conn, rows)


def claim(database: sa.Engine, worker: str, now: datetime = NOW, limit: int = 10) -> list[Any]:
    """Claims due jobs."""
    with database.begin() as conn:
        return jobs.claim(conn, [KIND], worker, now, limit)


def state(database: sa.Engine) -> list[tuple[str, int]]:
    """Status and attempts of all jobs."""
    with database.connect() as conn:
        query = "SELECT status, attempts FROM jobs ORDER BY run_at"
        return [tuple(row) for row in conn.exec_driver_sql(query)]


def results(database: sa.Engine) -> str | None:
    """What the rules noted of the results of key ``a``."""
    with database.connect() as conn:
        text: str | None = conn.exec_driver_sql(
            "SELECT results FROM counters WHERE key = 'a'"
        ).scalar()
        return text


def letters(database: sa.Engine) -> list[dict[str, Any]]:
    """The dead letters on their way to the dlq topic."""
    with database.connect() as conn:
        query = "SELECT payload FROM outbox WHERE topic = 'analytics.dlq'"
        return [CODEC.decode("DeadLetter", row[0]) for row in conn.exec_driver_sql(query)]


def last_error(database: sa.Engine) -> str | None:
    """The last error of the only job."""
    with database.connect() as conn:
        text: str | None = conn.exec_driver_sql("SELECT last_error FROM jobs").scalar_one()
        return text


@contextmanager
def working(
    database: sa.Engine, call: Callable[[JobContext], Mapping[str, Any]]
) -> Iterator[Worker]:
    """A worker that runs until the block ends."""
    kind = JobKind("call", call, backoff_base=0.01, backoff_cap=0.05, max_attempts=3)
    worker = Worker(database, make_engine(), [kind], poll=0.02, slots=2)
    stop = threading.Event()
    thread = threading.Thread(target=worker.run, args=(stop,))
    thread.start()
    try:
        yield worker
    finally:
        stop.set()
        worker.wake.set()
        thread.join(10)
    assert not thread.is_alive()


def test_a_job_is_claimed_by_one_worker_only(database: sa.Engine) -> None:
    add(database, *[job(f"key-{n}") for n in range(20)])
    taken = [claim(database, f"worker-{n}", limit=7) for n in range(4)]
    ids = [claimed.row.job_id for part in taken for claimed in part]
    assert len(ids) == len(set(ids)) == 20


def test_critical_jobs_come_first_and_future_ones_not_yet(database: sa.Engine) -> None:
    add(database, job("batch", priority=200), job("critical", priority=10))
    add(database, job("later", run_at=NOW + timedelta(hours=1)))
    assert [claimed.row.key for claimed in claim(database, "w", limit=1)] == ["critical"]
    assert [claimed.row.key for claimed in claim(database, "w")] == ["batch"]


def test_a_lease_that_ran_out_is_taken_over_and_the_first_holder_is_fenced_off(
    database: sa.Engine,
) -> None:
    add(database, job())
    (first,) = claim(database, "first")
    assert claim(database, "second") == []
    (second,) = claim(database, "second", NOW + KIND.lease + timedelta(seconds=1))
    assert second.attempt == 2
    with database.begin() as conn:
        assert not jobs.end(conn, [Ending(first, "succeeded", None)], "first")
        assert jobs.end(conn, [Ending(second, "succeeded", None)], "second")


def test_a_holder_from_before_a_redrive_is_fenced_off(database: sa.Engine) -> None:
    add(database, job())
    (first,) = claim(database, "w")
    (second,) = claim(database, "w", NOW + KIND.lease + timedelta(seconds=1))
    with database.begin() as conn:
        assert jobs.end(conn, [Ending(second, "failed", "no")], "w")
        assert jobs.redrive(conn, first.row.job_id, NOW)
    (third,) = claim(database, "w")
    assert third.attempt == first.attempt
    with database.begin() as conn:
        assert not jobs.end(conn, [Ending(first, "succeeded", None)], "w")
        assert jobs.end(conn, [Ending(third, "succeeded", None)], "w")


def test_only_waiting_jobs_are_cancelled(database: sa.Engine) -> None:
    add(database, job("waits"), job("runs", run_at=NOW - timedelta(seconds=1)))
    claim(database, "w", limit=1)
    with database.begin() as conn:
        jobs.cancel(conn, {("waits", "call"), ("runs", "call")})
    assert state(database) == [("running", 1), ("cancelled", 0)]


def test_a_result_goes_through_the_rules(database: sa.Engine) -> None:
    add(database, job())
    with working(database, lambda _: {"answer": "yes"}):
        until(lambda: state(database) == [("succeeded", 1)], 10, "the job")
    assert results(database) == "yes;"


def test_a_refusal_is_final(database: sa.Engine) -> None:
    def call(_: JobContext) -> Mapping[str, Any]:
        raise Refused("no_such_account")

    add(database, job())
    with working(database, call):
        until(lambda: state(database) == [("failed", 1)], 10, "the job")
    assert results(database) == "no_such_account;"


@pytest.mark.parametrize("answer", [{"count": 1000}, {"answer": "a NUL: \x00"}])
def test_a_result_that_the_database_refuses_is_a_dead_job_that_can_be_redriven(
    database: sa.Engine, answer: Mapping[str, Any]
) -> None:
    answers = [answer, {"answer": "mended"}]
    attempts: list[int] = []

    def call(context: JobContext) -> Mapping[str, Any]:
        attempts.append(context.attempt)
        return answers[len(attempts) - 1]

    row = job()
    add(database, row)
    with working(database, call):
        until(lambda: state(database) == [("dead", 1)], 10, "the job")
        assert results(database) is None
        (letter,) = letters(database)
        assert (letter["message_id"], letter["reason"], letter["status"]) == (
            str(row.job_id),
            "job",
            "dead",
        )
        assert letter["last_error"] == last_error(database)
        with database.begin() as conn:
            assert jobs.redrive(conn, row.job_id, NOW)
        until(lambda: state(database) == [("succeeded", 1)], 10, "the job after its redrive")
    assert results(database) == "mended;"
    assert attempts == [1, 1]


def test_a_refusal_with_a_nul_in_its_reason_ends_the_job(database: sa.Engine) -> None:
    def call(context: JobContext) -> Mapping[str, Any]:
        raise RetryLater("\x00") if context.attempt < 3 else Refused("no \x00 account")

    add(database, job())
    with working(database, call):
        until(lambda: state(database) == [("dead", 3)], 10, "the job")
    assert len(letters(database)) == 1


@pytest.mark.parametrize("error", [RetryLater("answered 503"), RuntimeError("a bug")])
def test_attempts_are_used_up(database: sa.Engine, error: Exception) -> None:
    def call(_: JobContext) -> Mapping[str, Any]:
        raise error

    add(database, job())
    with working(database, call):
        until(lambda: state(database) == [("dead", 3)], 10, "the job")
    assert results(database) == "attempts_exhausted;"


def test_a_job_whose_attempts_all_ended_without_a_result_is_not_tried_for_ever(
    database: sa.Engine,
) -> None:
    calls: list[int] = []

    def call(context: JobContext) -> Mapping[str, Any]:
        calls.append(context.attempt)
        return {}

    add(database, job())
    for worker in range(3):
        claim(database, f"killed-{worker}", NOW + worker * 2 * KIND.lease)
    with database.begin() as conn:
        conn.exec_driver_sql("UPDATE jobs SET locked_until = now() - interval '1 s'")
    with working(database, call):
        until(lambda: state(database) == [("dead", 4)], 10, "the job")
    assert calls == []
    assert results(database) == "attempts_exhausted;"
    assert last_error(database) == "no attempt had a result"


def test_an_unreachable_remote_uses_no_attempt(database: sa.Engine) -> None:
    calls: list[int] = []

    def call(context: JobContext) -> Mapping[str, Any]:
        calls.append(context.attempt)
        if len(calls) < 6:
            raise Postpone("connection refused")
        return {"answer": "at last"}

    add(database, job())
    with working(database, call):
        until(lambda: state(database) == [("succeeded", 1)], 10, "the job")
    assert calls == [1] * 6


def test_a_stopping_worker_finishes_the_call_in_hand(database: sa.Engine) -> None:
    entered, go_on = threading.Event(), threading.Event()

    def call(_: JobContext) -> Mapping[str, Any]:
        entered.set()
        go_on.wait(5)
        return {"answer": "finished"}

    add(database, job())
    with working(database, call) as worker:
        assert entered.wait(5)
        threading.Timer(0.1, go_on.set).start()
        worker.wake.set()
    assert state(database) == [("succeeded", 1)]


def test_a_result_outlives_a_moment_without_its_database(
    ground: Ground, database: sa.Engine
) -> None:
    calls: list[int] = []
    workers = sa.create_engine(database.url, connect_args={"application_name": "worker"})

    def let_in(allowed: bool) -> None:
        with ground.admin() as admin:
            admin.execute(f"ALTER DATABASE {database.url.database} ALLOW_CONNECTIONS {allowed}")
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'worker'"
            )

    def call(context: JobContext) -> Mapping[str, Any]:
        calls.append(context.attempt)
        let_in(False)
        threading.Timer(1.0, let_in, [True]).start()
        return {"answer": "mailed"}

    add(database, job())
    with working(workers, call):
        until(lambda: state(database) == [("succeeded", 1)], 10, "the job")
    workers.dispose()
    assert calls == [1]


def test_a_result_outlives_a_statement_that_is_refused_and_the_log_says_so(
    database: sa.Engine,
) -> None:
    calls: list[int] = []

    def call(context: JobContext) -> Mapping[str, Any]:
        calls.append(context.attempt)
        return {"answer": "mailed"}

    def refused() -> bool:
        return any(line["event"].startswith(trouble.REFUSED) for line in lines)

    add(database, job())
    with capture_logs() as lines, working(database, call):
        with without_counters(database):
            until(lambda: bool(calls) and refused(), 10, "the refusal to be told")
        until(lambda: state(database) == [("succeeded", 1)], 10, "the job")
    assert calls == [1]
    assert {line["sqlstate"] for line in lines if "sqlstate" in line} == {"42P01"}


def test_backoff_grows_is_capped_and_jitters() -> None:
    kind = JobKind("call", backoff_base=1, backoff_cap=30)
    early = [backoff(kind, 1) for _ in range(200)]
    late = [backoff(kind, 50) for _ in range(200)]
    assert max(early) <= 2
    assert 15 < max(late) <= 30
    assert len(set(late)) > 100
