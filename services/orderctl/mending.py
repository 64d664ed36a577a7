"""What is missing for an order, and putting it right; harmless where nothing is missing."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa

from services.orderctl.commands.reemit import emit
from services.orderctl.errors import CliError
from services.orderctl.operations import Operations
from services.orderctl.settings import Settings
from services.orderctl.stuck.facts import PROJECTOR, Facts, load
from services.orderctl.verify.databases import EMITTERS, reading

SERVICES = (*EMITTERS, PROJECTOR)
REFUND, REFUND_FAILED = "refund", "refund_failed"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a step; ``well`` is False where it failed again."""

    text: str
    well: bool = True


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do: ``action`` is a word for programs. ``asks`` where rules or money move."""

    action: str
    service: str
    text: str
    asks: bool
    do: Callable[[], Outcome]


def known(settings: Settings, order_id: str) -> str:
    """The id of an order of whatever tenant, as it is stored; `CliError` where there is none."""
    with suppress(ValueError):
        key = str(UUID(order_id))
        with reading(settings, "order") as conn:
            query = sa.text("SELECT order_id FROM orders WHERE order_id = :key")
            if conn.execute(query, {"key": key}).scalar_one_or_none():
                return key
    raise CliError(f"there is no order {order_id}", "orderctl place shows the id it got")


def plan(settings: Settings, operations: Operations, key: str) -> list[Step]:
    """What is missing for this order, in the order in which it has to be done."""
    facts = load(settings, key, SERVICES)
    return [
        *_letters(operations, facts),
        *_jobs(operations, facts),
        *_refund(operations, facts, payment_status(settings, key)),
        *_events(settings, facts),
    ]


def payment_status(settings: Settings, key: str) -> str | None:
    """The state of an order's payment; None where there is none."""
    with reading(settings, "payment") as conn:
        query = sa.text("SELECT status FROM payments WHERE key = :key")
        return conn.execute(query, {"key": key}).scalar_one_or_none()


def _letters(operations: Operations, facts: Facts) -> list[Step]:
    def redrive(service: str) -> Callable[[], Outcome]:
        def do() -> Outcome:
            results = operations.redrive_key(service, facts.key)
            text = ", ".join(result.outcome for result in results)
            return Outcome(text, all(result.well for result in results))

        return do

    counts: dict[str, int] = {}
    for letter in facts.letters:
        counts[letter.service] = counts.get(letter.service, 0) + 1
    return [
        Step("redrive", service, f"redrive {count} letters", True, redrive(service))
        for service, count in counts.items()
    ]


def _jobs(operations: Operations, facts: Facts) -> list[Step]:
    def start_over(service: str, job_id: str) -> Callable[[], Outcome]:
        return lambda: Outcome(operations.redrive_job(service, job_id).outcome)

    return [
        Step(
            "redrive_job",
            job.service,
            f"start job {job.kind} over",
            True,
            start_over(job.service, job.id),
        )
        for job in facts.jobs
        if job.status == "dead"
    ]


def _refund(operations: Operations, facts: Facts, status: str | None) -> list[Step]:
    """A refund that was refused is asked for again; a dead job of it starts over anyway."""
    dead = any(job.kind == REFUND and job.status == "dead" for job in facts.jobs)
    if status != REFUND_FAILED or dead:
        return []

    def do() -> Outcome:
        return Outcome(f"the payment is {operations.refund(facts.key)}")

    return [Step("refund", "payment", "ask for the failed refund again", True, do)]


def _events(settings: Settings, facts: Facts) -> list[Step]:
    def send(service: str, ids: Sequence[UUID]) -> Callable[[], Outcome]:
        return lambda: Outcome(f"{len(emit(settings, service, ids))} sent")

    unseen: dict[str, dict[UUID, str]] = {}
    for event, _ in facts.unseen():
        unseen.setdefault(event.service, {})[UUID(event.message_id)] = event.event_type
    return [
        Step(
            "reemit",
            service,
            f"publish again: {', '.join(types.values())}",
            False,
            send(service, list(types)),
        )
        for service, types in unseen.items()
    ]
