"""The batch's span: there with its first recorded event, in its own trace, linked to by all."""

from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from services.eventkit import tracing
from services.eventkit.decision import Event
from services.eventkit.envelope import Envelope
from services.eventkit.records import Message, RawRecord
from services.eventkit.taken import TakenSpans

NOW = datetime(2026, 1, 31, 9, 15, tzinfo=UTC)


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """What a process exports that records none of the traces that begin in it."""
    made: list[TracerProvider] = []
    monkeypatch.setattr("opentelemetry.trace.set_tracer_provider", made.append)
    tracing.setup("toy", "", 0.0)
    found = InMemorySpanExporter()
    made[0].add_span_processor(SimpleSpanProcessor(found))
    monkeypatch.setattr(tracing, "_TRACER", made[0].get_tracer("test"))
    yield found
    made[0].shutdown()


def message(traceparent: str | None) -> Message:
    id_, key = uuid4(), str(uuid4())
    record = RawRecord("toy.events", 0, 1, key.encode(), b"", [])
    envelope = Envelope(
        id_, "Toyed", "/toy", NOW, key, "c", None, 1, "1", "demo", "tests", traceparent
    )
    return Message(record, envelope, Event(id_, "Toyed", key, {}, "demo", "tests", "c", NOW))


def in_a_trace(sampled: bool) -> Message:
    return message(f"00-{uuid4().hex}-{'2' * 16}-{'01' if sampled else '00'}")


def take(*messages: Message) -> None:
    spans = TakenSpans("toy-group", len(messages))
    for one in messages:
        spans.process(one)
    spans.finish()


def named(exporter: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [span for span in exporter.get_finished_spans() if span.name == name]


def test_recorded_events_are_linked_to_one_batch(exporter: InMemorySpanExporter) -> None:
    recorded = [in_a_trace(True), in_a_trace(True)]
    take(in_a_trace(False), recorded[0], message(None), recorded[1])
    (batch,) = named(exporter, "process batch")
    events = named(exporter, "process toy.events")
    ids = {tracing.trace_id_of(one.envelope.traceparent) for one in recorded}
    assert {f"{span.context.trace_id:032x}" for span in events if span.context} == ids
    assert [[link.context for link in span.links] for span in events] == [[batch.context]] * 2
    assert batch.parent is None
    assert batch.context is not None
    assert f"{batch.context.trace_id:032x}" not in ids
    assert batch.attributes == {
        "messaging.system": "kafka",
        "messaging.operation.type": "process",
        "messaging.operation.name": "process",
        "messaging.consumer.group.name": "toy-group",
        "messaging.batch.message_count": 4,
    }
    assert {(span.start_time, span.end_time) for span in events} == {
        (batch.start_time, batch.end_time)
    }


@pytest.mark.parametrize("traceparent", [None, f"00-{'1' * 32}-{'2' * 16}-00"])
def test_no_batch_without_a_recorded_event(
    exporter: InMemorySpanExporter, traceparent: str | None
) -> None:
    take(message(traceparent), message(traceparent))
    assert not exporter.get_finished_spans()


def test_nothing_taken_leaves_nothing(exporter: InMemorySpanExporter) -> None:
    take()
    assert not exporter.get_finished_spans()


def test_what_is_rolled_back_leaves_nothing(exporter: InMemorySpanExporter) -> None:
    TakenSpans("toy-group", 1).process(in_a_trace(True))
    assert not exporter.get_finished_spans()
