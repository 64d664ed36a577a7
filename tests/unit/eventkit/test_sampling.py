"""A trace is recorded where its beginning was, at the share that was set."""

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import SpanKind, Tracer, get_current_span

from services.eventkit import tracing

SAMPLED = f"00-{'1' * 32}-{'2' * 16}-01"
NOT_SAMPLED = f"00-{'1' * 32}-{'2' * 16}-00"


@pytest.fixture
def tracer(monkeypatch: pytest.MonkeyPatch) -> Tracer:
    """A tracer with a tenth of the traces; nothing is left set for other tests."""
    made: list[TracerProvider] = []
    monkeypatch.setattr("opentelemetry.trace.set_tracer_provider", made.append)
    tracing.setup("toy", "", 0.1)
    return made[0].get_tracer("test")


def recorded(tracer: Tracer, traceparent: str | None) -> bool:
    span = tracer.start_span("s", context=tracing.context_of(traceparent))
    span.end()
    return span.is_recording() or span.get_span_context().trace_flags.sampled


def test_who_began_decides(tracer: Tracer) -> None:
    assert recorded(tracer, SAMPLED)
    assert not recorded(tracer, NOT_SAMPLED)


def test_a_share_of_what_begins_here(tracer: Tracer) -> None:
    assert sum(recorded(tracer, None) for _ in range(2000)) == pytest.approx(200, abs=80)


def test_what_is_not_recorded_goes_on_under_its_trace_id(tracer: Tracer) -> None:
    context = tracing.context_of(NOT_SAMPLED)
    assert tracing.traceparent_of(context) == NOT_SAMPLED
    assert not get_current_span(context).is_recording()


def test_a_transaction_of_a_trace_that_is_not_recorded_hands_its_context_on() -> None:
    def undescribed() -> tracing.Attributes:
        raise AssertionError("nobody looks at it")

    batch = tracing.SpanBatch()
    context = tracing.context_of(NOT_SAMPLED)
    sent = batch.start("send toy.events", SpanKind.PRODUCER, context, undescribed)
    tracing.annotate(sent, outcome="applied")
    tracing.fail(sent, ValueError("a rule"))
    batch.finish()
    assert tracing.traceparent_of(sent) == NOT_SAMPLED
