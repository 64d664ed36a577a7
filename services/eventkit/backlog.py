"""What a service has still to do, counted for the metrics: jobs, and records put aside.

One query each however often the metrics are read, over partial indexes: rows that have ended well
are not looked at.
"""

from collections.abc import Iterable
from typing import Final

import sqlalchemy as sa
from prometheus_client import Gauge

from services.eventkit import metrics
from services.eventkit.dead_letters import DEAD, OPEN

STATUSES: Final = ("pending", "running", DEAD)

_JOBS: Final = sa.text("""
SELECT kind, 'pending' AS status, count(*) AS jobs,
       extract(epoch FROM now() - min(run_at))::float AS overdue
FROM jobs WHERE status = 'pending' GROUP BY kind
UNION ALL
SELECT kind, 'running', count(*), NULL FROM jobs WHERE status = 'running' GROUP BY kind
UNION ALL
SELECT kind, 'dead', count(*), NULL
FROM jobs WHERE status IN ('failed', 'dead') AND status = 'dead' GROUP BY kind""")

_LETTERS: Final = sa.text("""
SELECT status, count(*) AS letters FROM dead_letters
WHERE status IN ('dead', 'parked', 'quarantined') GROUP BY status""")


class Backlog:
    """Counts one service's backlog. ``kinds`` are the kinds of job it has."""

    def __init__(self, db: sa.Engine, kinds: Iterable[str]) -> None:
        self._db = db
        self._kinds = tuple(kinds)

    def look(self) -> None:
        """One look."""
        with self._db.connect() as conn:
            jobs = {(row.kind, row.status): row for row in conn.execute(_JOBS)}
        for kind in self._kinds:
            for status in STATUSES:
                row = jobs.get((kind, status))
                metrics.JOBS_NOW.labels(kind, status).set(row.jobs if row else 0)
            waiting = jobs.get((kind, "pending"))
            metrics.JOB_OVERDUE.labels(kind).set(max(0.0, waiting.overdue) if waiting else 0)
        count_letters(self._db)


def count_letters(db: sa.Engine, gauge: Gauge = metrics.LETTERS) -> None:
    """Counts the open dead letters of one database."""
    with db.connect() as conn:
        letters = {row.status: row.letters for row in conn.execute(_LETTERS)}
    for status in OPEN:
        gauge.labels(status).set(letters.get(status, 0))
