"""A service's database made for one test module, and its rules run on it without a broker."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import psycopg
import sqlalchemy as sa
from opentelemetry.context import Context

from services.eventkit.codec import Codec
from services.eventkit.db import make_engine
from services.eventkit.decision import Event
from services.eventkit.engine import Done, Engine, Failed, Step, lock_keys
from services.eventkit.migrate import migrate
from services.eventkit.schemas import Schemas
from services.eventkit.service import Runtime, Service
from services.eventkit.tracing import SpanBatch
from tests.live_stack import Ground


@dataclass(frozen=True)
class Scratch:
    """A service on a database of its own."""

    db: sa.Engine
    engine: Engine[Any]
    runtime: Runtime[Any, Any]

    def handle(self, *events: Event) -> list[str]:
        """Decide events in one transaction, as the consumer does; the outcomes' names.

        Raises what a rule raised.
        """
        steps = [Step(event, event.id, Context()) for event in events]
        spans = SpanBatch()
        with self.db.begin() as conn:
            lock_keys(conn, {event.key for event in events})
            outcomes = self.engine.execute(conn, steps, datetime.now(UTC), spans)
        spans.finish()
        for outcome in outcomes:
            if isinstance(outcome, Failed):
                raise outcome.error
        return [outcome.decision.outcome for outcome in outcomes if isinstance(outcome, Done)]

    def rows(self, query: str, **values: Any) -> Sequence[tuple[Any, ...]]:
        """What is stored."""
        with self.db.connect() as conn:
            return [tuple(row) for row in conn.execute(sa.text(query), values)]

    def emitted(self, key: str) -> list[str]:
        """The types of an aggregate's events in the outbox, in order."""
        query = "SELECT event_type FROM outbox WHERE aggregate_id = :key ORDER BY seq"
        return [event_type for (event_type,) in self.rows(query, key=key)]

    def total(self, query: str) -> int:
        """One number."""
        ((found,),) = self.rows(query)
        return int(found)


@contextmanager
def scratch(ground: Ground, service: Service[Any, Any], **settings: Any) -> Iterator[Scratch]:
    """The service on an empty, migrated database of the stack's PostgreSQL, dropped at the end.

    Its runtime has settings only where some are given.
    """
    name = f"scratch_{service.name}"
    with ground.admin() as admin:
        _drop(admin, name)
        admin.execute(f"CREATE DATABASE {name}")
    url = ground.settings.database_url("postgres", name)
    migrate(service.name, url)
    db = make_engine(url, pool_size=20, name=name)
    codec = Codec(Schemas.load())
    engine = Engine(service.name, service.handlers, service.store, codec, f"{service.name}.events")
    given = {"http_port": 1, "database_url": url, "kafka_bootstrap": "", "registry_url": ""}
    made = service.settings(**given, **settings) if settings else None
    try:
        yield Scratch(db, engine, Runtime(service, made, db, engine))
    finally:
        db.dispose()
        with ground.admin() as admin:
            _drop(admin, name)


def _drop(admin: psycopg.Connection, name: str) -> None:
    admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
