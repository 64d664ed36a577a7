"""What services know about one order: what they wrote, took in, put aside, have still to do."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.engine import Connection

from services.analytics.handlers import HANDLERS as ANALYTICS
from services.email.handlers import HANDLERS as EMAIL
from services.inventory.handlers import HANDLERS as INVENTORY
from services.order.handlers import HANDLERS as ORDER
from services.orderctl.settings import Settings
from services.orderctl.verify.databases import EMITTERS, reading
from services.payment.handlers import HANDLERS as PAYMENT
from services.projector.views import PROJECTIONS

PROJECTOR: Final = "projector"
TABLES: Final[Mapping[str, Collection[str]]] = {
    "order": ORDER,
    "inventory": INVENTORY,
    "payment": PAYMENT,
    "email": EMAIL,
    "analytics": ANALYTICS,
    PROJECTOR: PROJECTIONS,
}

_WRITTEN = sa.text("""
SELECT message_id::text AS message_id, event_type, topic, coalesce(lsn > (
           SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = :slot
       ), true) AS waits
FROM outbox WHERE aggregate_id = :key AND sequence > 0 ORDER BY sequence""")
_LETTERS = sa.text("""
SELECT message_id::text AS id, event_type, status, reason, last_error AS error
FROM dead_letters WHERE key = :key AND status IN ('dead', 'parked', 'quarantined') ORDER BY seq""")
_JOBS = sa.text("""
SELECT job_id::text AS id, kind, status, attempts, run_at, last_error AS error
FROM jobs WHERE key = :key AND status IN ('pending', 'running', 'dead') ORDER BY created_at""")
_TAKEN = sa.text(
    "SELECT message_id::text FROM inbox WHERE message_id = ANY(:ids) AND status <> 'parked'"
).bindparams(sa.bindparam("ids", type_=ARRAY(sa.Uuid)))
_PROJECTED = sa.text("""
SELECT message_id::text FROM order_timeline WHERE order_id = CAST(:key AS uuid)""")


@dataclass(frozen=True, slots=True)
class Written:
    """An event in a service's outbox; ``waits`` while its relay has not confirmed it."""

    service: str
    message_id: str
    event_type: str
    topic: str
    waits: bool


@dataclass(frozen=True, slots=True)
class PutAside:
    """A dead, quarantined or parked event of one service."""

    service: str
    id: str
    event_type: str | None
    status: str
    reason: str
    error: str


@dataclass(frozen=True, slots=True)
class Job:
    """A job of one service that waits, runs or is dead."""

    service: str
    id: str
    kind: str
    status: str
    attempts: int
    run_at: datetime
    error: str | None


@dataclass(frozen=True)
class Facts:
    """One order, looked at in several services. ``taken`` holds the ids each has taken in."""

    key: str
    written: Sequence[Written] = ()
    taken: Mapping[str, set[str]] = field(default_factory=dict)
    letters: Sequence[PutAside] = ()
    jobs: Sequence[Job] = ()

    def unseen(self) -> Iterator[tuple[Written, str]]:
        """Events that a service which acts on them has not taken in, with that service."""
        for event in self.written:
            for reader in readers(event.event_type, self.taken):
                if event.message_id not in self.taken[reader]:
                    yield event, reader


def readers(event_type: str, among: Iterable[str]) -> list[str]:
    """The services that act on an event, by their tables of handlers and projections."""
    return [name for name in among if event_type in TABLES.get(name, {})]


def load(settings: Settings, key: str, services: Sequence[str]) -> Facts:
    """Looks into these services' databases; ``services`` may include the projector."""
    written: list[Written] = []
    letters: list[PutAside] = []
    jobs: list[Job] = []
    taken: dict[str, set[str]] = defaultdict(set)
    emitters = [name for name in services if name in EMITTERS]
    for name in emitters:
        with reading(settings, name) as conn:
            values = {"key": key, "slot": f"outbox_{name}"}
            written += [Written(name, **row) for row in _rows(conn, _WRITTEN, values)]
            letters += [PutAside(name, **row) for row in _rows(conn, _LETTERS, values)]
            jobs += [Job(name, **row) for row in _rows(conn, _JOBS, values)]
    ids = [UUID(event.message_id) for event in written]
    for name in services:
        with reading(settings, name) as conn:
            query = _PROJECTED if name == PROJECTOR else _TAKEN
            wanted: dict[str, Any] = {"key": key} if name == PROJECTOR else {"ids": ids}
            taken[name] = set(conn.execute(query, wanted).scalars())
    return Facts(key, written, taken, letters, jobs)


def _rows(
    conn: Connection, query: sa.TextClause, values: Mapping[str, Any]
) -> list[dict[str, Any]]:
    return [dict(row) for row in conn.execute(query, dict(values)).mappings()]
