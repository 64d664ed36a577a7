"""Why an order waits: a pure look at facts, the nearest cause first."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from services.orderctl.groups import Group
from services.orderctl.murmur2 import partition_of
from services.orderctl.relays import Status
from services.orderctl.stuck.facts import Facts, Job, PutAside, Written
from services.orderctl.stuck.waiting import WaitingOrder

DEADLINE = "payment_deadline"
PENDING_STEPS = ("stock", "payment")


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that is in the way, where, and what helps; ``kind`` is a word for programs."""

    kind: str
    service: str
    text: str
    remedy: str = ""

    def as_json(self) -> dict[str, str]:
        """All fields."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True)
class Surroundings:
    """What is the same for all orders: relays, consumer groups, and remotes left alone.

    ``groups`` is None where the broker did not answer: then nothing is known of any of them.
    """

    relays: Mapping[str, Status] = field(default_factory=dict)
    groups: Mapping[str, Group] | None = field(default_factory=dict)
    open_breakers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    partitions: int = 6


def causes(order: WaitingOrder, facts: Facts, around: Surroundings, now: datetime) -> list[Cause]:
    """All that is in the way of the order; one that says so where nothing was found."""
    found = [_letter(letter, order.order_id) for letter in facts.letters]
    found += [
        _job(job, around) for job in facts.jobs if job.kind != DEADLINE or job.status == "dead"
    ]
    found += [_unseen(event, reader, facts.key, around) for event, reader in facts.unseen()]
    found += _deadline(order, facts, now)
    if found:
        return found
    help_ = f"orderctl show {order.order_id} and the services' logs"
    return [Cause("unknown", "order", "nothing was found that is in the way", help_)]


def _letter(letter: PutAside, order_id: str) -> Cause:
    what = letter.event_type or "a record without a type"
    if letter.status == "parked":
        text = f"{what} is parked behind a dead letter"
    else:
        first = letter.error.splitlines()[0] if letter.error else ""
        text = f"{what} is a {letter.status} letter ({letter.reason}: {first})"
    kind = "parked" if letter.status == "parked" else "dead_letter"
    return Cause(kind, letter.service, text, f"orderctl dlq redrive --order {order_id}")


def _job(job: Job, around: Surroundings) -> Cause:
    if job.status == "dead":
        text = f"job {job.kind} is dead after {job.attempts} attempts: {job.error}"
        return Cause("dead_job", job.service, text, f"orderctl jobs redrive {job.id}")
    text = f"job {job.kind} is {job.status}, attempt {job.attempts}"
    if job.error:
        text += f", last error: {job.error}"
    if job.status == "pending":
        text += f", next at {job.run_at:%H:%M:%S}"
    for remote in around.open_breakers.get(job.service, ()):
        text += f"; {remote} is left alone for a moment because it kept failing"
    return Cause("job", job.service, text, "it goes on by itself as soon as the remote answers")


def _unseen(event: Written, reader: str, key: str, around: Surroundings) -> Cause:
    """The first broken link between an event that was written and a service that waits for it."""
    relay = around.relays.get(event.service)
    if event.waits and relay is not None:
        state = f"slot {relay.relay.state}, connector {relay.connector}"
        text = f"{event.event_type} is not published yet: {state}"
        return Cause("unpublished", event.service, text, relay.remedy or "orderctl cdc")
    if around.groups is None:
        text = f"the broker does not answer: whether {event.event_type} reached {reader} is unknown"
        return Cause("broker_away", reader, text, "make status; is broker running?")
    group = around.groups.get(reader)
    if group is not None and not group.members:
        text = f"nobody reads {event.event_type}: consumer group {reader} has no member"
        return Cause("no_reader", reader, text, f"make status; is {reader} running?")
    behind = _behind(group, event.topic, key, around.partitions)
    if behind is None:
        text = f"how far {reader} has read the partition of {event.event_type} is unknown"
        return Cause("unknown", reader, text, "orderctl lag")
    if behind:
        text = f"{reader} is {behind} events behind on the partition of {event.event_type}"
        return Cause("lag", reader, text, "orderctl lag")
    text = f"{event.event_type} was published long ago by its slot, and never reached {reader}"
    remedy = f"orderctl reemit --service {event.service} --order {key}"
    return Cause("lost_event", event.service, text, remedy)


def _behind(group: Group | None, topic: str, key: str, partitions: int) -> int | None:
    """How many events the group has still to read there; None where nothing is known of it."""
    place = (topic, partition_of(key.encode(), partitions))
    lags = group.lags if group else ()
    return next((lag.events for lag in lags if (lag.topic, lag.partition) == place), None)


def _deadline(order: WaitingOrder, facts: Facts, now: datetime) -> Iterator[Cause]:
    if order.step not in PENDING_STEPS:
        return
    jobs = [job for job in facts.jobs if job.kind == DEADLINE]
    if not jobs:
        yield Cause("no_deadline", "order", "no deadline job is waiting to end it")
    for job in jobs:
        if job.status == "dead":
            continue  # has been named as a dead job
        late = (now - job.run_at).total_seconds()
        if late < 0:
            text = f"its deadline will cancel it at {job.run_at:%Y-%m-%d %H:%M:%S} UTC"
            yield Cause("deadline", "order", text)
        else:
            text = f"its deadline passed {late:.0f} s ago and no worker has taken the job"
            yield Cause("deadline_overdue", "order", text, "make status; is order running?")


def as_json(order: WaitingOrder, found: list[Cause], now: datetime) -> dict[str, Any]:
    """An order with its causes."""
    return {
        "order_id": order.order_id,
        "step": order.step,
        "since": order.since,
        "seconds": round(order.seconds(now), 1),
        "pay_by": order.pay_by,
        "causes": [cause.as_json() for cause in found],
    }
