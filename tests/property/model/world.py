"""The world of one history: every service, what lies between them, and all that can happen."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID, uuid5

from services.email.domain import CANCELLED, CONFIRMED, job_of, message_id
from services.eventkit.decision import Event
from services.eventkit.ids import NAMESPACE
from services.eventkit.records import Message
from services.inventory.domain import Stock, stock_key
from tests.property.model import database as db
from tests.property.model.database import Job, Step
from tests.property.model.outside import Fault, Line, MailServer, Provider
from tests.property.model.parts import Parts, kinds_of
from tests.property.model.read_model import Projector
from tests.property.model.relay import Relay
from tests.property.model.service import Claim, Service
from tests.property.model.topics import OutboxRow, Topics
from tests.unit.ruleset import START

TENANT = "demo"
EVERYTHING = range(1000)

_MAILS = {job_of(kind): kind for kind in (CONFIRMED, CANCELLED)}


@dataclass(frozen=True, slots=True)
class Placed:
    """An order as it was placed; ``name`` is what a story calls it."""

    key: str
    name: str
    lines: Mapping[str, int]
    token: str


class World:
    """Moves happen one at a time and are told in ``story``.

    ``lost_mails`` counts, by Message-ID, the mails taken by the server of which email never knew;
    ``forgotten``, by service, how often an inbox ran out.
    """

    def __init__(self, parts: Parts, stock: Mapping[str, int]) -> None:
        self.parts = parts
        self.topics = Topics()
        self.provider = Provider()
        self.mail_server = MailServer()
        self.lines = {"payment": self.provider.line, "email": self.mail_server.line}
        self.story: list[str] = []
        self.orders: list[Placed] = []
        self.lost_mails: Counter[str] = Counter()
        self.forgotten: Counter[str] = Counter()
        kinds = kinds_of(parts.calls(self.provider), self.mail_server)
        self.services = {
            name: Service(name, table, kinds[name], self.topics, parts.habits)
            for name, table in parts.tables.items()
        }
        self.projector = Projector(self.topics, parts.project)
        self.members: dict[str, Service | Projector] = {
            **self.services,
            "projector": self.projector,
        }
        self.relays = {
            name: Relay(self.topics, service.database.outbox)
            for name, service in self.services.items()
        }
        self._now = START
        self._commands = 0
        self._received = 0
        for sku, pieces in stock.items():
            self.receive(sku, pieces)

    # --- customers and people

    def place(self, lines: Mapping[str, int], token: str) -> None:
        """A customer orders."""
        number = len(self.orders) + 1
        placed = Placed(str(UUID(int=number)), f"order-{number}", lines, token)
        self.orders.append(placed)
        data = {
            "customer_id": "c-1",
            "currency": "EUR",
            "payment_token": token,
            "pay_by": START + timedelta(minutes=15),
            "lines": [{"sku": s, "quantity": q, "unit_price": 100} for s, q in lines.items()],
            "trace_id": None,
        }
        goods = ", ".join(f"{quantity} {sku}" for sku, quantity in lines.items())
        self._tell(f"a customer orders {goods} as {placed.name}, paying with {token}")
        self._command("order", "PlaceOrder", placed.key, data)

    def cancel(self, order: Placed) -> None:
        """The customer cancels."""
        self._tell(f"the customer cancels {order.name}")
        self._command("order", "CancelOrder", order.key, {})

    def retry_refund(self, order: Placed) -> None:
        """A person has a failed refund tried again."""
        self._tell(f"a person has the refund of {order.name} tried again")
        self._command("payment", "RetryRefund", order.key, {})

    def receive(self, sku: str, pieces: int) -> None:
        """Goods come in."""
        self._tell(f"{pieces} {sku} come in")
        self._received += 1
        stock = self.services["inventory"].database.related
        row = stock.get(stock_key(TENANT, sku), Stock(TENANT, sku, 0, 0, 0))
        stock[stock_key(TENANT, sku)] = replace(
            row, imported=row.imported + pieces, available=row.available + pieces
        )

    # --- events on their way

    def relay(self, name: str, rows: int = 1000, *, stores_position: bool = True) -> None:
        """A relay publishes rows of an outbox, and remembers its position or not."""
        forgets = "" if stores_position else " and does not store its position"
        published = min(rows, self.relays[name].waiting())
        self._tell(f"the relay of {name} publishes {published} of its rows{forgets}")
        self.relays[name].publish(rows)
        if stores_position:
            self.relays[name].store_position()

    def restart_relay(self, name: str) -> None:
        """A relay goes on from its stored position."""
        self._tell(f"the relay of {name} restarts")
        self.relays[name].restart()

    def lose_slot(self, name: str, missed: int) -> None:
        """The replication slot is dropped: rows not published yet, and some to come, are missed."""
        self._tell(f"the relay of {name} loses its slot, and will miss {missed} rows to come")
        self.relays[name].lose_slot(missed)

    def publish_again(self, row: OutboxRow) -> None:
        """A row is emitted again, as it is."""
        self._tell(f"{self._named(row)} is published again")
        self.topics.publish(row)

    def repeat(self, row: OutboxRow) -> None:
        """An event is said again under a message id of its own."""
        self._tell(f"{self._named(row)} comes again under a new message id")
        self.topics.publish(row.under(self._new_id()))

    # --- consumers

    def consume(self, name: str, picks: Sequence[int], crash_at: int | None = None) -> None:
        """A consumer handles a batch; ``crash_at`` is the step before which its service dies."""
        member = self.members[name]
        messages = member.consumer.take(picks)
        if not messages:
            return
        batch = member.prepare(messages, self._tick())
        steps = [*batch.steps(), lambda: member.consumer.acknowledge(messages)]
        if not self.parts.habits.acknowledges_after_commit:
            steps.insert(0, steps.pop())
        self._tell(f"{name} takes {', '.join(self._named(message) for message in messages)}")
        self._run(name, steps, crash_at)

    def stall(self, name: str, picks: Sequence[int]) -> None:
        """A member takes a batch and hangs; its partitions go to another one."""
        member = self.members[name]
        member.stalled = member.consumer.peek(picks)
        self._tell(f"a member of {name} hangs with a batch of {len(member.stalled)}")

    def wake(self, name: str) -> None:
        """The member that hung handles its batch after all; its acknowledgement is refused."""
        member = self.members[name]
        self._tell(f"the member of {name} that hung handles its batch")
        batch = member.prepare(member.stalled, self._tick())
        member.stalled = ()
        self._run(name, batch.steps())

    def rewind(self, name: str) -> None:
        """A group's offsets are set to the beginning."""
        self._tell(f"{name} reads its topics from the beginning")
        self.members[name].consumer.rewind()

    def crash(self, name: str) -> None:
        """A service dies and starts again."""
        self._tell(f"{name} crashes")
        if name in self.services:
            for claim in self.services[name].claims:
                self._count_lost(claim)
        self.members[name].crash()

    def forget(self, name: str) -> None:
        """The retention of an inbox runs out."""
        self._tell(f"{name} forgets the messages it has handled")
        self.services[name].forget_old_messages()
        self.forgotten[name] += 1

    # --- rules that fail

    def break_rules(self, name: str, order: Placed) -> None:
        """The rules of a service raise for one order."""
        self._tell(f"the rules of {name} fail for {order.name}")
        self.services[name].broken.add(order.key)

    def mend_rules(self, name: str) -> None:
        """The rules are mended; what was put aside is still there."""
        self._tell(f"the rules of {name} are mended")
        self.services[name].broken.clear()

    def redrive(self, name: str) -> None:
        """A person redrives a service's letters."""
        self._tell(f"a person redrives the letters of {name}")
        told = self._mark(name)
        self.services[name].redrive(self._tick())
        self._tell_since(name, told)

    # --- jobs

    def claim(self, name: str, job: Job) -> Claim:
        """A worker takes a job."""
        self._tell(f"{name} claims {self._job(job)}")
        return self.services[name].claim(job)

    def call(self, name: str, claim: Claim) -> None:
        """A worker makes the call of a claimed job, and its request may go wrong."""
        line = self.lines.get(name, Line())
        line.met = Fault.NONE
        mails = self.mail_server.copies.total()
        self.services[name].call(claim)
        self._tell(f"the request of {self._job(claim.job)} {line.met.value}")
        if line.met is Fault.LOST_ANSWER and self.mail_server.copies.total() > mails:
            self._count_lost_mail(claim.job)

    def store(self, name: str, claim: Claim, crash_at: int | None = None) -> None:
        """A worker stores the result of a call, unless it dies before or has lost the job."""
        service = self.services[name]
        transaction = service.store(claim, self._tick())
        if transaction is None or crash_at == 0 or transaction.jobs[claim.job.id].rule_failed:
            self._count_lost(claim)
        if transaction is None:
            self._tell(f"{name} discards a result of {self._job(claim.job)}")
            return
        status = transaction.jobs[claim.job.id].status
        self._tell(f"{name} stores the result of {self._job(claim.job)}: {status}")
        self._run(name, transaction.steps(), crash_at)

    def work(self, name: str, job: Job) -> None:
        """A worker does a job from its claim to its result."""
        claim = self.claim(name, job)
        self.call(name, claim)
        self.store(name, claim)

    def disturb(self, name: str, faults: Sequence[Fault]) -> None:
        """The next requests of a service go wrong."""
        self._tell(f"the line of {name} is disturbed for {len(faults)} requests")
        self.lines[name].faults.extend(faults)

    def end_faults(self) -> None:
        """From now on requests are answered, until the next trouble."""
        for line in self.lines.values():
            line.faults.clear()

    def end_lease(self, name: str, job: Job) -> None:
        """The lease of a job runs out."""
        self._tell(f"the lease of {self._job(job)} runs out")
        self.services[name].end_lease(job)

    def redrive_job(self, name: str, job: Job) -> None:
        """A person has a dead or failed job start over."""
        self._tell(f"a person redrives {self._job(job)}")
        self.services[name].redrive_job(job)

    def mend_provider(self) -> None:
        """The provider reads and refunds every card from now on."""
        self._tell("the provider is mended")
        self.provider.mend()

    # --- inside

    def _run(self, name: str, steps: Sequence[Step], crash_at: int | None = None) -> None:
        told = self._mark(name)
        for number, step in enumerate(steps):
            if number == crash_at:
                break
            step()
        self._tell_since(name, told)
        if crash_at is not None:
            self.crash(name)

    def _command(self, name: str, kind: str, key: str, data: Mapping[str, object]) -> None:
        event = Event(
            self._new_id(), kind, key, data, TENANT, "c-1", "request", self._now, source="api"
        )
        told = self._mark(name)
        self.services[name].command(event, self._tick())
        self._tell_since(name, told)

    def _tick(self) -> datetime:
        self._now += timedelta(milliseconds=1)
        return self._now

    def _new_id(self) -> UUID:
        self._commands += 1
        return uuid5(NAMESPACE, f"command:{self._commands}")

    def _count_lost(self, claim: Claim) -> None:
        """Counts a mail that was taken, where its result is a success that nobody stored."""
        if claim.result is not None and claim.result.status == db.SUCCEEDED:
            self._count_lost_mail(claim.job)

    def _count_lost_mail(self, job: Job) -> None:
        if (kind := _MAILS.get(job.kind)) is not None:
            self.lost_mails[message_id(job.key, kind)] += 1

    def _tell(self, what: str) -> None:
        self.story.append(what)

    def _mark(self, name: str) -> tuple[int, int]:
        """How much of a service's log and letters is told already."""
        if name not in self.services:
            return 0, 0
        database = self.services[name].database
        return len(database.decided), len(database.letters)

    def _tell_since(self, name: str, mark: tuple[int, int]) -> None:
        if name not in self.services:
            return
        database = self.services[name].database
        for one in database.decided[mark[0] :]:
            emits = "".join(f" -> {emit.type}" for emit in one.decision.emits)
            jobs = "".join(f" -> job {job.kind}" for job in one.decision.jobs)
            of = f"{one.event.type} of {self.name_of(one.event.key)}"
            self._tell(f"  {name}: {of} {one.decision.outcome}{emits}{jobs}")
        for letter in database.letters[mark[1] :]:
            fate = "dead" if letter.dead else "parked"
            self._tell(f"  {name}: {self._named(letter.message)} {fate}")

    def progress(self) -> tuple[int, ...]:
        """Grows whenever a service decides anything, money moves, or goods come in."""
        decided = [len(service.database.decided) for service in self.services.values()]
        return (*decided, len(self.provider.ledger), self._received)

    def name_of(self, key: str) -> str:
        """What a story calls the order of a key."""
        return f"order-{UUID(key).int}"

    def _named(self, said: OutboxRow | Message) -> str:
        return f"{said.envelope.event_type} of {self.name_of(said.envelope.subject)}"

    def _job(self, job: Job) -> str:
        return f"{job.kind} of {self.name_of(job.key)}"
