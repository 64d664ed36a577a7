"""How long a queue takes to drain: depth x time for one task / workers, if less arrives than that.

Pure: what was measured goes in, what follows from it comes out.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from services.orderctl.scrape import Metrics

CONSUMER, JOB = "consumer", "job"
GUARDIAN = "connect-guardian"
"""The process that measures the consumer groups."""
GROUP_OF = {"projector": "projector-agent"}
"""The process that reads for a group, where it is called otherwise."""


@dataclass(frozen=True, slots=True)
class Queue:
    """What waits for one kind of worker. ``seconds`` is the time for one task, None if unknown.

    ``arrivals`` is in tasks per second; ``workers`` is how many tasks can be under way at once.
    """

    kind: str
    name: str
    depth: float
    seconds: float | None
    workers: int
    arrivals: float

    @property
    def rate(self) -> float | None:
        """How many tasks its workers can do in a second; None where no task was seen yet."""
        if not self.seconds:
            return None
        return self.workers / self.seconds

    @property
    def use(self) -> float | None:
        """The share of its workers that the arrivals keep busy; 1 and more never drains."""
        return None if self.rate is None or not self.workers else self.arrivals / self.rate

    @property
    def drains_in(self) -> float | None:
        """Seconds until it is empty at the present arrivals; None where it never is, or unknown."""
        if not self.depth:
            return 0.0
        if not self.rate or self.arrivals >= self.rate:
            return None
        return self.depth / (self.rate - self.arrivals)

    @property
    def verdict(self) -> str:
        """The same in words."""
        if not self.depth:
            return "empty"
        if not self.workers:
            return "never: nobody works on it"
        if self.rate is None:
            return "unknown: no task was done yet"
        if self.drains_in is None:
            needed = int(self.arrivals * (self.seconds or 0)) + 1
            return (
                f"never: more arrives than is done; it needs {needed} workers, has {self.workers}"
            )
        return f"in {self.drains_in:.1f} s"

    @property
    def well(self) -> bool:
        """False where what waits is not going to be done."""
        return not self.depth or (self.rate is not None and self.drains_in is not None)

    def as_json(self) -> dict[str, Any]:
        """What was measured, and what follows."""
        measured = {name: getattr(self, name) for name in self.__slots__}
        return measured | {
            "rate": self.rate,
            "use": self.use,
            "drains_in_seconds": self.drains_in,
            "verdict": self.verdict,
        }


Scrapes = Mapping[str, Metrics]


def consumers(before: Scrapes, after: Scrapes, seconds: float) -> Iterator[Queue]:
    """One queue a consumer group, from two looks that lie ``seconds`` apart."""
    then, now = before.get(GUARDIAN), after.get(GUARDIAN)
    if then is None or now is None:
        return
    for labels, members in now.of("saga_consumer_members"):
        group = labels["group"]
        depth = now.sum("saga_consumer_lag_events", group=group)
        written = depth + now.sum("saga_consumer_next_offset", group=group)
        earlier = then.sum("saga_consumer_lag_events", group=group)
        earlier += then.sum("saga_consumer_next_offset", group=group)
        process = GROUP_OF.get(group, group)
        took = _per_task(before, after, process, "saga_batch_seconds_sum", "saga_batch_records_sum")
        arrivals = max(0.0, written - earlier) / seconds
        yield Queue(CONSUMER, group, depth, took, int(members), arrivals)


def unknown(asked: Collection[str], before: Scrapes, after: Scrapes) -> list[str]:
    """What could not be looked at, in words: a queue that nobody measured is not empty."""
    away = sorted(set(asked) - (before.keys() & after.keys()))
    told = [f"{process} did not answer: nothing is known of it" for process in away]
    measured = [look[GUARDIAN] for look in (before, after) if GUARDIAN in look]
    if not all(metrics.sum("saga_broker_answers") for metrics in measured):
        told.append("the broker did not answer: nothing is known of the consumer groups")
    return told


def jobs(
    before: Scrapes, after: Scrapes, due: Mapping[tuple[str, str], int], seconds: float, slots: int
) -> Iterator[Queue]:
    """One queue a kind of job; ``due`` counts those that wait now, of kinds that have any.

    What arrives is what was done meanwhile: a queue that grows shows at the next look.
    """
    known = {
        (process, labels["kind"]): 0
        for process, metrics in after.items()
        for labels, _ in metrics.of("saga_jobs")
    }
    for (process, kind), depth in sorted((known | dict(due)).items()):
        names = ("saga_job_seconds_sum", "saga_job_seconds_count")
        took = _per_task(before, after, process, *names, kind=kind)
        done = _grown(before, after, process, "saga_job_seconds_count", kind=kind)
        yield Queue(JOB, f"{process} {kind}", depth, took, slots, max(0.0, done or 0.0) / seconds)


def _per_task(
    before: Scrapes, after: Scrapes, process: str, busy: str, tasks: str, **labels: str
) -> float | None:
    """Seconds for one task: of those between the looks, else of all since the process started."""
    count = _grown(before, after, process, tasks, **labels)
    spent = _grown(before, after, process, busy, **labels)
    if count is not None and spent is not None and count > 0:
        return spent / count
    metrics = after.get(process)
    total = metrics.sum(tasks, **labels) if metrics else 0
    return metrics.sum(busy, **labels) / total if metrics and total else None


def _grown(before: Scrapes, after: Scrapes, process: str, name: str, **labels: str) -> float | None:
    if process not in before or process not in after:
        return None
    return after[process].sum(name, **labels) - before[process].sum(name, **labels)
