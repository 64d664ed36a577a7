"""Where the time of a saga went, by class: rules, outbox, topic, job, outside.

- *rules*: the transactions of services: requests, handlers, storing the results of jobs;
- *outbox*: from an event's decision until it is on its topic;
- *topic*: from there until a consumer has taken it;
- *job*: from wanting something of the outside until a worker asks, with pauses between attempts;
- *outside*: the calls themselves.

Waiting is between spans, so it is told by the attributes of the consumer's span and by the distance
of a job's span from the one before it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise

from services.orderctl.waterfall import Span, by_id, way_to

ENDING_SERVICE = "order"
CALL = "client"


@dataclass(frozen=True, slots=True)
class Times:
    """Microseconds of each class."""

    rules: float = 0
    outbox: float = 0
    topic: float = 0
    job: float = 0
    outside: float = 0

    def __add__(self, other: "Times") -> "Times":
        return Times(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def total(self) -> float:
        """The sum of all classes."""
        return float(sum(getattr(self, f.name) for f in fields(self)))

    def as_milliseconds(self) -> dict[str, float]:
        """Each class, rounded."""
        return {f.name: round(getattr(self, f.name) / 1000, 3) for f in fields(self)}


def everything(found: Sequence[Span]) -> Times:
    """All branches of a trace; what went on side by side counts each time."""
    return _sum(found, found)


def way_to_the_ending(found: Sequence[Span]) -> Times:
    """Only what the order's ending had to wait for: the last event that the order service sent."""
    sent = [span for span in found if span.service == ENDING_SERVICE and _sends(span)]
    if not sent:
        return Times()
    last = max(sent, key=lambda span: span.start)
    return _sum(way_to(found, last), found)


def _sum(path: Iterable[Span], found: Sequence[Span]) -> Times:
    total = Times()
    for span in path:
        total += _own(span, found)
    return total


def _own(span: Span, found: Sequence[Span]) -> Times:
    if _is_job(span):
        outside = _calls_below(span, found)
        rules = max(0.0, span.duration - outside)
        return Times(rules=rules, job=_waited(span, found), outside=outside)
    if span.outbox_ms is not None or span.topic_ms is not None or _handles(span):
        outbox, topic = (1000 * (wait or 0.0) for wait in (span.outbox_ms, span.topic_ms))
        return Times(rules=span.duration, outbox=outbox, topic=topic)
    if span.kind == "server" and span.parent_id not in by_id(found):
        return Times(rules=span.duration)
    return Times()


def _waited(job: Span, found: Sequence[Span]) -> float:
    """From the end of what came before: the span that planned it, or the attempt before."""
    planned = by_id(found).get(job.parent_id or "")
    if planned is None:
        return 0.0
    attempts = sorted(
        (s for s in found if s.parent_id == job.parent_id and s.name == job.name),
        key=lambda s: s.start,
    )
    before = {after.span_id: earlier for earlier, after in pairwise(attempts)}
    previous = before.get(job.span_id, planned)
    return max(0.0, job.start - (previous.start + previous.duration))


def _calls_below(job: Span, found: Sequence[Span]) -> float:
    """The time of the calls that a job made itself, not of what the callee did meanwhile."""
    return sum(s.duration for s in found if s.parent_id == job.span_id and s.kind == CALL)


def _is_job(span: Span) -> bool:
    return span.name.startswith("job ")


def _handles(span: Span) -> bool:
    return span.name.startswith(("process ", "redrive "))


def _sends(span: Span) -> bool:
    return span.name.startswith("send ")
