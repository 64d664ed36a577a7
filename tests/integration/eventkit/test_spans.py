"""What becomes of one event's trace when things go wrong: letters, redrives, attempts, repeats."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from services.eventkit.batch import BatchHandler
from services.eventkit.records import RawRecord
from services.eventkit.redrive import Decider, Redrive
from services.eventkit.tracing import BATCH_SIZE
from tests.integration.eventkit import toy

BATCH = "process batch"


@pytest.fixture(scope="module")
def exporter() -> InMemorySpanExporter:
    """Whatever this process records from now on."""
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        provider = TracerProvider()
        trace.set_tracer_provider(provider)
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return exporter


@pytest.fixture
def spans(exporter: InMemorySpanExporter) -> Iterator[InMemorySpanExporter]:
    exporter.clear()
    yield exporter
    exporter.clear()


def traced(key: str, kind: str, trace_id: str) -> RawRecord:
    """A record of the toy within a trace."""
    made = toy.record(key, kind)
    header = ("traceparent", f"00-{trace_id}-{'2' * 16}-01".encode())
    kept = [one for one in made.headers if one[0] != "traceparent"]
    now = datetime.now(UTC).timestamp()
    return RawRecord(made.topic, 0, made.offset, made.key, made.value, [*kept, header], now, now)


def trace_of(span: ReadableSpan) -> str:
    context: Any = span.context
    return f"{context.trace_id:032x}"


def test_events_of_one_transaction_stay_in_their_traces_and_are_linked_to_their_batch(
    database: sa.Engine, spans: InMemorySpanExporter
) -> None:
    ids = [uuid4().hex for _ in range(3)]
    handler = BatchHandler(database, toy.make_engine(), "toy")
    handler.handle([traced(str(uuid4()), "ok", id_) for id_ in ids])
    found = [span for span in spans.get_finished_spans() if span.kind is SpanKind.CONSUMER]
    (batch,) = (span for span in found if span.name == BATCH)
    assert (batch.attributes or {})[BATCH_SIZE] == len(ids)
    events = [span for span in found if span is not batch]
    assert {trace_of(span) for span in events} == set(ids)
    assert trace_of(batch) not in ids
    assert [[link.context for link in span.links] for span in events] == [[batch.context]] * 3
    assert all("saga.topic_ms" in (span.attributes or {}) for span in events)


def test_a_letter_and_its_redrive_are_in_the_saga_they_belong_to(
    database: sa.Engine, spans: InMemorySpanExporter
) -> None:
    trace_id, key = uuid4().hex, str(uuid4())
    engine = toy.make_engine()
    BatchHandler(database, engine, "toy").handle([traced(key, "raise", trace_id)])
    (failed,) = (span for span in spans.get_finished_spans() if span.name != BATCH)
    assert trace_of(failed) == trace_id
    assert failed.status.status_code is StatusCode.ERROR
    assert (failed.attributes or {})["saga.outcome"] == "dead:rule"

    spans.clear()
    Redrive(database, engine).key(key, Decider("tests", "again"))
    (again,) = spans.get_finished_spans()
    assert (again.name, trace_of(again)) == ("redrive email.events", trace_id)


def test_a_repeat_adds_no_span(database: sa.Engine, spans: InMemorySpanExporter) -> None:
    handler = BatchHandler(database, toy.make_engine(), "toy")
    record = traced(str(uuid4()), "ok", uuid4().hex)
    handler.handle([record])
    once = len(spans.get_finished_spans())
    handler.handle([record])
    handler.handle([])
    assert len(spans.get_finished_spans()) == once == len(["process", "send", BATCH])
