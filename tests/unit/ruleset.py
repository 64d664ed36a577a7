"""Run a handler table in memory: what the engine does with one order, and nothing else.

Every decision is checked: no promise of the table broken, every event encodable by its schema.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import fastavro

from services.eventkit.decision import Decision, Emit, Event, Facts, Handlers, NewJob

SCHEMAS = Path(__file__).parents[2] / "schemas"
ORDER = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def event(
    event_type: str, data: Mapping[str, Any], key: str = ORDER, tenant: str = "demo"
) -> Event:
    """An event as a rule sees it, with an id of its own."""
    return Event(uuid4(), event_type, key, data, tenant, "tester", "request-1", START)


@cache
def schemas() -> Mapping[str, Any]:
    """Every event's parsed schema by its short name."""
    parsed = {}
    for path in SCHEMAS.glob("*/*.avsc"):
        parsed[path.stem] = fastavro.parse_schema(json.loads(path.read_text()))
    return parsed


def encode(emit: Emit) -> None:
    """Raise where an event has not exactly the fields of its schema."""
    fastavro.schemaless_writer(BytesIO(), schemas()[emit.type], dict(emit.data), strict=True)


@dataclass
class Ruleset:
    """A service's rules with the aggregates, related rows, events and jobs they led to."""

    handlers: Handlers[Any]
    related: dict[str, Any] = field(default_factory=dict)
    states: dict[str, Any] = field(default_factory=dict)
    emitted: list[tuple[str, Emit]] = field(default_factory=list)
    jobs: list[tuple[str, NewJob]] = field(default_factory=list)
    now: datetime = START

    def give(self, given: Event) -> Decision[Any]:
        """Decide about one input and keep what came of it."""
        line = self.handlers[given.type]
        before = self.states.get(given.key)
        self.now += timedelta(seconds=1)
        decision = line.rule(before, given, Facts(self.now, self.related))
        self._check(given, decision)
        if decision.state is not None:
            version = before.version if before else 0
            self.states[given.key] = replace(decision.state, version=version + len(decision.emits))
        self.related.update(decision.related)
        self.emitted += [(given.key, emit) for emit in decision.emits]
        self.jobs = [
            (key, job)
            for key, job in self.jobs
            if key != given.key or job.kind not in decision.cancel_jobs
        ] + [(given.key, job) for job in decision.jobs]
        return decision

    def types(self, key: str = ORDER) -> list[str]:
        """The types of an order's events so far, in order."""
        return [emit.type for emitted_key, emit in self.emitted if emitted_key == key]

    def kinds(self, key: str = ORDER) -> list[str]:
        """The kinds of an order's waiting jobs."""
        return [job.kind for job_key, job in self.jobs if job_key == key]

    def _check(self, given: Event, decision: Decision[Any]) -> None:
        line = self.handlers[given.type]
        assert {emit.type for emit in decision.emits} <= set(line.emits), given.type
        assert {job.kind for job in decision.jobs} <= set(line.jobs), given.type
        if decision.outcome.startswith("ignored:"):
            assert decision == Decision(decision.outcome), "an ignored input leaves no trace"
        else:
            assert decision.state is not None
            assert (decision.state.key, decision.state.tenant_id) == (given.key, given.tenant_id)
        for emit in decision.emits:
            encode(emit)


def sequences(inputs: Mapping[str, Event], length: int) -> Iterator[list[str]]:
    """Every order and multiplicity of the inputs' names, up to a length."""
    ready: list[list[str]] = [[]]
    for _ in range(length):
        ready = [[*names, name] for names in ready for name in inputs]
        yield from ready
