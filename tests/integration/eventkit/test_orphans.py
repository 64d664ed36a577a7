"""The jobs of a worker that was killed are free at once, and only those."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa

from infra.local.waiting import until
from services.eventkit import jobs, orphans
from services.eventkit.jobs import JobContext
from tests.integration.eventkit.test_jobs import add, claim, job, state, working

NAMED = "from services.eventkit import orphans; print(orphans.worker_name(), flush=True); input()"


@contextmanager
def other_process() -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Another process on this machine, and the name of a worker in it."""
    command = [sys.executable, "-c", NAMED]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip(), process
    finally:
        process.kill()
        process.communicate()


def test_the_jobs_of_a_killed_worker_need_no_lease_to_end(database: sa.Engine) -> None:
    add(database, job())
    with other_process() as (name, process):
        (first,) = claim(database, name, datetime.now(UTC))
        assert orphans.free(database) == 0, "its worker lives"
        process.kill()
        process.wait()
    attempts: list[int] = []

    def call(context: JobContext) -> Mapping[str, Any]:
        attempts.append(context.attempt)
        return {}

    with working(database, call):
        assert orphans.free(database) == 1
        until(lambda: state(database) == [("succeeded", 2)], 10, "the job")
    # The attempt that died counts: what it may have done is looked up, not done again blindly.
    assert attempts == [2]
    with database.begin() as conn:
        assert not jobs.end(conn, [jobs.Ending(first, "failed", None)], name)


def test_only_who_is_known_to_be_dead_is_dead() -> None:
    with other_process() as (name, process):
        host, place, pid, rest = name.split(":")
        assert not orphans.is_dead(name)
        process.kill()
        process.wait()
        assert orphans.is_dead(name)
        # The same number means nothing in another container or after another boot.
        assert not orphans.is_dead(f"{host}:{'0' * 12}:{pid}:{rest}")
        assert not orphans.is_dead(f"{host}:{pid}:{rest}")
    assert not orphans.is_dead(orphans.worker_name())
    assert not orphans.is_dead(f"{host}:{place}:{10**30}:{rest}")


def test_where_the_system_names_no_place_the_lease_decides(
    monkeypatch: pytest.MonkeyPatch, tmp_path: os.PathLike[str]
) -> None:
    monkeypatch.setattr(orphans, "_BOOT", tmp_path / "absent")  # type: ignore[operator]
    orphans._place.cache_clear()
    try:
        with other_process() as (name, process):
            process.kill()
            process.wait()
            assert not orphans.is_dead(name)
    finally:
        orphans._place.cache_clear()
