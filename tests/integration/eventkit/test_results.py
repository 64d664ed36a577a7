"""Results that come together are stored together, and none takes another with it."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import sqlalchemy as sa

from infra.local.waiting import until
from services.eventkit import jobs
from services.eventkit.jobs import Claimed, JobKind, JobRow
from services.eventkit.results import LostLease, Results, _Waiting, result_of
from tests.integration.eventkit.toy import make_engine

WORKER = "worker"
KIND = JobKind("call")


def claimed(database: sa.Engine, keys: list[str]) -> list[Claimed]:
    """A job for each key, claimed by the worker."""
    now = datetime.now(UTC)
    rows = [
        JobRow(uuid4(), key, "call", {}, n, now, "demo", "customer-1", "request-1", None, None)
        for n, key in enumerate(keys)
    ]
    with database.begin() as conn:
        jobs.add(conn, rows)
        taken = jobs.claim(conn, [KIND], WORKER, now, len(keys))
    return sorted(taken, key=lambda job: job.row.priority)


@contextmanager
def held_up(database: sa.Engine) -> Iterator[None]:
    """Nothing can be stored until the block ends."""
    with database.begin() as conn:
        conn.exec_driver_sql("LOCK TABLE counters IN ACCESS EXCLUSIVE MODE")
        yield


def store_together(
    database: sa.Engine, answers: Sequence[tuple[Claimed, Mapping[str, Any]]]
) -> dict[UUID, str]:
    """Stores results from a thread each, all but the first while that one is held up.

    Returns the status each job got, or the name of the error.
    """
    results = Results(database, make_engine(), WORKER)
    told: dict[UUID, str] = {}

    def store(job: Claimed, data: Mapping[str, Any]) -> None:
        try:
            stored = results.store(result_of("analytics", job, "succeeded", data))
            told[job.row.job_id] = stored.ending.status
        except LostLease as error:
            told[job.row.job_id] = type(error).__name__

    threads = [threading.Thread(target=store, args=answer) for answer in answers]
    with held_up(database):
        threads[0].start()
        until(lambda: _blocked(database), 10, "the first to wait for the table")
        for thread in threads[1:]:
            thread.start()
        until(lambda: len(results._waiting) == len(answers) - 1, 10, "the others to wait for it")
    for thread in threads:
        thread.join(20)
    return told


def _blocked(database: sa.Engine) -> bool:
    with database.connect() as conn:
        query = "SELECT count(*) FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM"
        query += " pg_database WHERE datname = current_database())"
        return bool(conn.exec_driver_sql(query).scalar_one())


def transactions(database: sa.Engine) -> int:
    """How many transactions wrote the jobs as they are now."""
    with database.connect() as conn:
        found: int = conn.exec_driver_sql(
            "SELECT count(DISTINCT xmin::text) FROM jobs"
        ).scalar_one()
        return found


def noted(database: sa.Engine) -> dict[str, str]:
    """What the rules noted, by key."""
    with database.connect() as conn:
        rows = conn.exec_driver_sql("SELECT key, results FROM counters")
        return {row[0]: row[1] for row in rows}


def test_results_that_wait_share_a_transaction(database: sa.Engine) -> None:
    taken = claimed(database, [f"key-{n}" for n in range(6)])
    told = store_together(database, [(job, {"answer": job.row.key}) for job in taken])
    assert set(told.values()) == {"succeeded"} and len(told) == 6
    assert noted(database) == {f"key-{n}": f"key-{n};" for n in range(6)}
    assert transactions(database) == 2


def test_a_result_that_the_database_refuses_takes_no_other_with_it(database: sa.Engine) -> None:
    taken = claimed(database, ["first", "good", "bad", "fine"])
    answers = [(job, {"count": 1000 if job.row.key == "bad" else 1}) for job in taken]
    told = store_together(database, answers)
    assert [told[job.row.job_id] for job in taken] == [
        "succeeded",
        "succeeded",
        "dead",
        "succeeded",
    ]
    assert noted(database).keys() == {"first", "good", "fine"}


def test_a_result_whose_lease_is_lost_takes_no_other_with_it(database: sa.Engine) -> None:
    taken = claimed(database, ["first", "good", "lost", "fine"])
    with database.begin() as conn:
        conn.exec_driver_sql("UPDATE jobs SET locked_by = 'successor' WHERE key = 'lost'")
    told = store_together(database, [(job, {"answer": "yes"}) for job in taken])
    assert [told[job.row.job_id] for job in taken] == ["succeeded"] * 2 + ["LostLease", "succeeded"]
    assert noted(database).keys() == {"first", "good", "fine"}


def test_a_result_behind_another_of_its_key_is_stored_though_it_is_its_turn_first(
    database: sa.Engine,
) -> None:
    first, second = claimed(database, ["same", "same"])
    results = Results(database, make_engine(), WORKER)
    answers = [
        result_of("analytics", job, "succeeded", {"answer": "yes"}) for job in (first, second)
    ]
    # The first one's thread has not come to its turn yet.
    waiting = _Waiting(answers[0], Future())
    results._waiting.append(waiting)
    thread = threading.Thread(target=results.store, args=(answers[1],), daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
    assert waiting.stored.done()
    assert noted(database) == {"same": "yes;yes;"}


def test_results_of_one_key_are_decided_one_after_the_other(database: sa.Engine) -> None:
    taken = claimed(database, ["first", "same", "same"])
    told = store_together(database, [(job, {"answer": "yes"}) for job in taken])
    assert set(told.values()) == {"succeeded"}
    assert noted(database)["same"] == "yes;yes;"
    assert transactions(database) == 3
