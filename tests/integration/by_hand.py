"""A worker whose steps a test makes one by one: claim, call, store the result."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from services.eventkit import jobs
from services.eventkit.batch import name_of
from services.eventkit.jobs import Claimed, JobContext, JobKind
from services.eventkit.results import Results, result_of
from tests.integration.scratch import Scratch


class ByHand:
    """A worker of a service on a scratch database."""

    def __init__(self, made: Scratch, kinds: Sequence[JobKind], name: str = "by-hand") -> None:
        self._made = made
        self._kinds = {kind.name: kind for kind in kinds}
        self._name = name
        self._results = Results(made.db, made.engine, name)

    def claim(self, *, later: timedelta = timedelta(0)) -> Claimed | None:
        """The next job that is due ``later`` from now, or None."""
        now = datetime.now(UTC) + later
        with self._made.db.begin() as conn:
            found = jobs.claim(conn, list(self._kinds.values()), self._name, now, 1)
        return found[0] if found else None

    def call(self, job: Claimed) -> Mapping[str, Any]:
        """Makes the outside call."""
        call = self._kinds[job.row.kind].call
        assert call is not None
        row = job.row
        return call(JobContext(row.key, row.args, job.attempt, row.tenant_id, row.redrives))

    def store(self, job: Claimed, data: Mapping[str, Any], status: str = "succeeded") -> str:
        """Has the rules decide about the result; the outcome's name."""
        result = result_of(self._made.engine.service, job, status, data)
        return name_of(self._results.store(result).outcome)

    def step(self) -> str | None:
        """Does one job that is due; its outcome, None where there was none."""
        job = self.claim()
        return self.store(job, self.call(job)) if job else None

    def work(self) -> int:
        """Does all that is due; how many jobs that were."""
        done = 0
        while self.step() is not None:
            done += 1
        return done
