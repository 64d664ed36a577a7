"""The smallest service there can be: it counts what it is told, by key."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from services.eventkit import db
from services.eventkit.codec import Codec
from services.eventkit.decision import Decision, Emit, Event, Facts, NewJob, On, handlers, ignored
from services.eventkit.engine import Engine
from services.eventkit.envelope import Envelope
from services.eventkit.records import RawRecord
from services.eventkit.schemas import Schemas

TOPIC = "email.events"
CODEC = Codec(Schemas.load())

counters = sa.Table(
    "counters",
    sa.MetaData(),
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("count", sa.Integer, nullable=False),
    sa.Column("results", sa.Text, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
)

DDL = """
CREATE TABLE counters (
    key text PRIMARY KEY,
    count integer NOT NULL CHECK (count < 1000),
    results text NOT NULL,
    version bigint NOT NULL
);
CREATE INDEX ON counters (results)
"""


_TOO_BIG = "".join(str(number) for number in range(50_000))
"""More than an index takes, also when it is compressed."""


@dataclass(frozen=True, slots=True)
class Counter:
    """How often a key was counted, and what its jobs came to."""

    key: str
    count: int = 0
    results: str = ""
    version: int = 0


class CounterStore:
    """The toy's SQL; ``break_once`` makes the next save fail as a lost connection would."""

    def __init__(self) -> None:
        self.break_once = False

    def load(self, conn: Connection, keys: Sequence[str]) -> dict[str, Counter]:
        rows = conn.execute(sa.select(counters).where(counters.c.key.in_(keys))).mappings()
        return {row["key"]: Counter(**row) for row in rows}

    def related(
        self, conn: Connection, events: Sequence[Event], states: Mapping[str, Counter]
    ) -> dict[str, Any]:
        return {}

    def save(
        self, conn: Connection, states: Mapping[str, Counter], related: Mapping[str, Any]
    ) -> None:
        if self.break_once:
            self.break_once = False
            raise sa.exc.OperationalError("INSERT", {}, Exception("connection lost"))
        rows = [
            {"key": c.key, "count": c.count, "results": c.results, "version": c.version}
            for c in states.values()
        ]
        db.upsert_rows(conn, counters, rows)


def count(state: Counter | None, event: Event, facts: Facts) -> Decision[Counter]:
    """Counts; the event's ``kind`` chooses what else happens."""
    before = state or Counter(event.key)
    kind = event.data["kind"]
    after = replace(before, count=before.count + 1)
    if kind == "raise":
        raise ZeroDivisionError("the rule is wrong")
    if kind == "ignore":
        return Decision(ignored("not_wanted"))
    if kind == "misspelt":
        return Decision("applied", after, (Emit("ReportReady", {"report": "x"}),))
    if kind == "broken_promise":
        return Decision("applied", after, (Emit("EmailSent", {"kind": "x"}),))
    if kind == "too_many":
        return Decision("applied", replace(after, count=1000))
    if kind == "nul":
        return Decision("applied", replace(after, results="a text with a NUL: \x00"))
    if kind == "too_big":
        return Decision("applied", replace(after, results=_TOO_BIG))
    if kind == "job":
        return Decision("applied", after, jobs=(NewJob("call", {"how": "ok"}),))
    return Decision("applied", after, (Emit("ReportReady", {"report_id": event.key}),))


def note_result(state: Counter | None, event: Event, facts: Facts) -> Decision[Counter]:
    """What a job came to."""
    before = state or Counter(event.key)
    result = event.data.get("answer") or event.data.get("reason", "")
    count = event.data.get("count", before.count)
    return Decision("applied", replace(before, count=count, results=f"{before.results}{result};"))


HANDLERS = handlers(
    On("EmailSent", TOPIC, count, ("ReportReady",), ("call",)),
    On("call.succeeded", "job", note_result),
    On("call.failed", "job", note_result),
)


@contextmanager
def without_counters(database: sa.Engine) -> Iterator[None]:
    """The toy's own table is missing meanwhile, as where a migration was forgotten."""
    with database.begin() as conn:
        conn.exec_driver_sql("ALTER TABLE counters RENAME TO counters_elsewhere")
    try:
        yield
    finally:
        with database.begin() as conn:
            conn.exec_driver_sql("ALTER TABLE counters_elsewhere RENAME TO counters")


def make_engine(store: CounterStore | None = None) -> Engine[Counter]:
    """The toy's engine; its service name is ``analytics`` for the topic it may emit to."""
    return Engine("analytics", HANDLERS, store or CounterStore(), CODEC, "analytics.events")


def record(
    key: str, kind: str = "ok", offset: int = 0, message_id: UUID | None = None
) -> RawRecord:
    """A record as Debezium would deliver it."""
    envelope = Envelope(
        message_id=message_id or uuid4(),
        event_type="EmailSent",
        source="/services/email",
        time=datetime(2026, 1, 31, tzinfo=UTC),
        subject=key,
        correlation_id="request-1",
        causation_id=None,
        sequence=1,
        schema_version="1",
        tenant_id="demo",
        actor_id="customer-1",
        traceparent=None,
    )
    value = CODEC.encode("EmailSent", {"kind": kind})
    return RawRecord(TOPIC, 0, offset, key.encode(), value, envelope.to_headers())
