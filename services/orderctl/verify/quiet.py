"""Waits until nothing moves: no lag, no job due, no new row."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import sqlalchemy as sa

from services.orderctl.groups import read_groups
from services.orderctl.settings import Settings
from services.orderctl.verify.databases import EMITTERS, reading

POLL = 0.5

BUSY = """
SELECT (SELECT count(*) FROM outbox) AS written,
       (SELECT count(*) FROM inbox) AS taken_in,
       (SELECT count(*) FROM jobs
        WHERE status = 'running' OR status = 'pending' AND run_at < now() + interval '60 s') AS jobs
"""
"""A job whose time is further away is a deadline, not work under way; retries wait 30 s at most."""


@dataclass(frozen=True, slots=True)
class Motion:
    """What is still under way, by service; ``marks`` differ whenever anything has moved."""

    lag: dict[str, int]
    jobs: dict[str, int]
    marks: tuple[int, ...]

    @property
    def still(self) -> bool:
        """True when nobody has anything left to do."""
        return not self.lag and not self.jobs

    def __str__(self) -> str:
        parts = [f"{group} is {events} events behind" for group, events in self.lag.items()]
        parts += [f"{service} has {jobs} jobs to do" for service, jobs in self.jobs.items()]
        return ", ".join(parts) or "rows are still being written"


def motion(settings: Settings) -> Motion:
    """What moves at this moment."""
    groups = read_groups(settings.kafka_bootstrap)
    marks = [lag.end_offset for group in groups for lag in group.lags]
    jobs: dict[str, int] = {}
    for service in EMITTERS:
        with reading(settings, service) as conn:
            row = conn.execute(sa.text(BUSY)).one()
        marks += [row.written, row.taken_in]
        if row.jobs:
            jobs[service] = row.jobs
    lag = {group.name: group.events for group in groups if group.events}
    return Motion(lag, jobs, tuple(marks))


def wait_for_quiet(
    settings: Settings, timeout: float, tell: Callable[[str], None] = lambda _: None
) -> Motion | None:
    """None once two looks in a row found nothing moving; else what still moved at the end."""
    deadline = time.monotonic() + timeout
    before: Motion | None = None
    while True:
        now = motion(settings)
        if now.still and before is not None and now.marks == before.marks:
            return None
        if time.monotonic() > deadline:
            return now
        tell(str(now))
        before = now
        time.sleep(POLL)
