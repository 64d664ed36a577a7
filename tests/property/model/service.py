"""A service: its database, its consumer and its worker, and what a crash takes from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from services.eventkit.decision import Event, Handlers
from services.eventkit.ids import derived
from services.eventkit.jobs import Call, JobContext, Postpone, Refused, RetryLater
from services.eventkit.records import Message
from tests.property.model import database as db
from tests.property.model.consumer import Consumer
from tests.property.model.database import BrokenRule, Database, Job, Letter, Transaction
from tests.property.model.habits import Habits
from tests.property.model.topics import Topics


@dataclass(frozen=True, slots=True)
class Kind:
    """How one kind of job is done: its outside call, if any, and how often it is tried."""

    call: Call | None = None
    max_attempts: int | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """How a call ended: ``succeeded``, ``failed``, ``dead``, or ``pending`` for another try."""

    status: str
    data: Mapping[str, Any] = field(default_factory=dict)
    used: bool = True


@dataclass
class Claim:
    """A job in a worker's hands; ``result`` is None until its call was made."""

    job: Job
    result: Result | None = None


class Service:
    """One service. ``broken`` are the orders whose rules raise at present."""

    def __init__(
        self,
        name: str,
        handlers: Handlers[Any],
        kinds: Mapping[str, Kind],
        topics: Topics,
        habits: Habits,
    ) -> None:
        subscribed = sorted({line.source for line in handlers.values()} - {"api", "job"})
        self.name = name
        self.database = Database()
        self.consumer = Consumer(topics, subscribed, self.handles)
        self.stalled: Sequence[Message] = ()
        self.claims: list[Claim] = []
        self.broken: set[str] = set()
        self._handlers = handlers
        self._kinds = kinds
        self._habits = habits
        self._starts = 0

    def handles(self, event: Event) -> bool:
        """True for an event that a rule is there for."""
        return event.type in self._handlers

    def prepare(self, messages: Sequence[Message], now: datetime) -> Transaction:
        """Decides a batch as the consumer does: repeats dropped, and none past a dead letter."""
        transaction = self._transaction(now)
        for message in messages:
            if self._habits.keeps_inbox and message.id in transaction.inbox:
                transaction.note(message)
                continue
            transaction.inbox.add(message.id)
            self._decide(transaction, message)
        return transaction

    def command(self, event: Event, now: datetime) -> None:
        """Decides a command of the API, at once or, where its rule raises, not at all."""
        transaction = self._transaction(now)
        try:
            transaction.decide(event, None)
        except BrokenRule:
            return
        transaction.commit()

    def redrive(self, now: datetime) -> None:
        """Runs the letters again in the order in which they came, each key until one fails."""
        transaction = self._transaction(now)
        letters, transaction.letters = transaction.letters, []
        for letter in letters:
            self._decide(transaction, letter.message)
        transaction.commit()

    def forget_old_messages(self) -> None:
        """Drops the inbox, as its retention does after days; letters stay."""
        self.database.inbox = {letter.message.id for letter in self.database.letters}

    def crash(self) -> None:
        """Loses what was in memory; leases of the claims run on."""
        self.consumer.restart()
        self.stalled = ()
        self.claims.clear()
        self._starts += 1

    # --- worker

    def claimable(self) -> list[Job]:
        """The jobs that a worker may take now."""
        jobs = self.database.jobs.values()
        return [job for job in jobs if job.status in (db.PENDING, db.RUNNING) and not job.leased]

    def claim(self, job: Job) -> Claim:
        """Takes a job: an attempt begins."""
        worker = f"{self.name}-{self._starts}"
        taken = replace(
            job, status=db.RUNNING, attempts=job.attempts + 1, worker=worker, leased=True
        )
        self.database.jobs[job.id] = taken
        self.claims.append(Claim(taken))
        return self.claims[-1]

    def end_lease(self, job: Job) -> None:
        """Lets a lease run out, whatever its holder is still doing."""
        self.database.jobs[job.id] = replace(job, leased=False)

    def call(self, claim: Claim) -> None:
        """Makes the outside call of a claimed job."""
        job, kind = claim.job, self._kinds[claim.job.kind]
        try:
            if kind.max_attempts is not None and job.attempts > kind.max_attempts:
                raise RetryLater("no attempt had a result")
            context = JobContext(job.key, job.args, job.attempts, job.cause.tenant_id)
            claim.result = Result(db.SUCCEEDED, kind.call(context) if kind.call else {})
        except Refused as error:
            claim.result = Result(db.FAILED, {"reason": str(error)})
        except Postpone:
            claim.result = Result(db.PENDING, used=False)
        except RetryLater:
            tried_enough = kind.max_attempts is not None and job.attempts >= kind.max_attempts
            exhausted = Result(db.DEAD, {"reason": "attempts_exhausted"})
            claim.result = exhausted if tried_enough else Result(db.PENDING)

    def store(self, claim: Claim, now: datetime) -> Transaction | None:
        """Decides the result of a claim; None where there is nothing to write.

        A result of a job that a successor has taken over is discarded.
        """
        self.claims.remove(claim)
        job, result = claim.job, claim.result
        if result is None:
            raise ValueError("the call was not made")
        if self._habits.fences_results and not self._is_held(job):
            return None
        transaction = self._transaction(now)
        ended = replace(job, status=result.status, leased=False)
        if result.status == db.PENDING:
            attempts = job.attempts if result.used else job.attempts - 1
            transaction.jobs[job.id] = replace(ended, attempts=attempts)
            return transaction
        transaction.jobs[job.id] = ended
        try:
            transaction.decide(self._result_event(job, result, now), job.causation_id)
        except BrokenRule:
            transaction.jobs[job.id] = replace(ended, status=db.DEAD, rule_failed=True)
        return transaction

    def redrive_job(self, job: Job) -> None:
        """Starts a dead or failed job over."""
        self.database.jobs[job.id] = replace(
            job, status=db.PENDING, attempts=0, redrives=job.redrives + 1, rule_failed=False
        )

    # --- inside

    def _transaction(self, now: datetime) -> Transaction:
        return Transaction(self.name, self._handlers, self.database, self.broken, self._habits, now)

    def _decide(self, transaction: Transaction, message: Message) -> None:
        blocked = {letter.message.event.key for letter in transaction.letters}
        if self._habits.parks_behind_dead_letters and message.event.key in blocked:
            transaction.letters.append(Letter(message, dead=False))
            return
        try:
            transaction.decide(message.event, message.id, message)
        except BrokenRule:
            transaction.letters.append(Letter(message, dead=True))

    def _is_held(self, job: Job) -> bool:
        stored = self.database.jobs[job.id]
        held = (stored.status, stored.worker, stored.attempts, stored.redrives)
        return held == (db.RUNNING, job.worker, job.attempts, job.redrives)

    def _result_event(self, job: Job, result: Result, now: datetime) -> Event:
        suffix = "succeeded" if result.status == db.SUCCEEDED else "failed"
        event_id = derived(self.name, job.id, "result", job.redrives)
        return replace(
            job.cause,
            id=event_id,
            type=f"{job.kind}.{suffix}",
            data={**result.data, "asked": job.args},
            time=now,
            source="job",
        )
