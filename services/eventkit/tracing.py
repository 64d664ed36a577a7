"""Traces that cross the outbox: the context travels as ``traceparent`` in rows and headers.

Span names and attributes follow the OpenTelemetry semantic conventions for messaging.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import (
    ALWAYS_ON,
    ParentBased,
    Sampler,
    SamplingResult,
    TraceIdRatioBased,
)
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from services.eventkit import logs

if TYPE_CHECKING:
    from fastapi.telemetry import TelemetryConfig

_PROPAGATOR = TraceContextTextMapPropagator()
_TRACER = trace.get_tracer("order-saga")

Attributes = Mapping[str, Any]

BATCH_SIZE = "messaging.batch.message_count"

UNTRACED = frozenset({"/health/live", "/health/ready", "/metrics"})
"""Where people and programs look in; nothing of it is worth a span or a count."""
REQUEST_SPANS: "TelemetryConfig" = {
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "exclude": lambda scope: scope.get("path") in UNTRACED,
}
"""What FastAPI itself records of a request: one server span, except where people look in."""


class _Beginnings(Sampler):
    """Records a share of the traces that begin here, and every batch: it has a recorded event."""

    def __init__(self, share: float) -> None:
        self._share = TraceIdRatioBased(share)

    def should_sample(
        self,
        parent_context: Context | None,
        trace_id: int,
        name: str,
        kind: SpanKind | None = None,
        attributes: Attributes | None = None,
        *more: Any,
        **named: Any,
    ) -> SamplingResult:
        decides = ALWAYS_ON if attributes and BATCH_SIZE in attributes else self._share
        return decides.should_sample(
            parent_context, trace_id, name, kind, attributes, *more, **named
        )

    def get_description(self) -> str:
        return f"batches and {self._share.get_description()}"


def setup(service: str, otlp_endpoint: str, share: float = 1.0) -> None:
    """Exports this process's spans to ``otlp_endpoint`` (OTLP over HTTP), or nowhere if empty.

    ``share`` of the traces that begin here are recorded. One that began elsewhere is recorded where
    its beginning was: a saga is seen whole or not at all.
    """
    provider = TracerProvider(
        sampler=ParentBased(_Beginnings(share)),
        resource=Resource.create({"service.name": service}),
    )
    if otlp_endpoint:
        exporter = OTLPSpanExporter(endpoint=f"{otlp_endpoint}/v1/traces", timeout=5)
        # A transaction of 500 events ends a thousand spans at once: by default two fill the queue.
        provider.add_span_processor(
            BatchSpanProcessor(exporter, schedule_delay_millis=1000, max_queue_size=8192)
        )
    trace.set_tracer_provider(provider)


def shutdown() -> None:
    """Exports what is left; called once, when the process ends."""
    provider = trace.get_tracer_provider()
    if isinstance(provider, TracerProvider):
        provider.shutdown()


def context_of(traceparent: str | None) -> Context:
    """The context that a row or a header carries; an empty one where it carries none."""
    carrier = {"traceparent": traceparent} if traceparent else {}
    return _PROPAGATOR.extract(carrier, context=Context())


def current() -> Context:
    """The context of the running request or job."""
    return otel_context.get_current()


def traceparent_of(context: Context) -> str | None:
    """The reverse of `context_of`."""
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier, context=context)
    return carrier.get("traceparent")


def _is_dropped(context: Context) -> bool:
    """True where whoever began the trace decided that nothing of it is recorded."""
    around = trace.get_current_span(context).get_span_context()
    return around.is_valid and not around.trace_flags.sampled


def trace_id_of(traceparent: str | None) -> str | None:
    """The 32 hexadecimal digits that name the trace."""
    return traceparent.split("-")[1] if traceparent else None


class SpanBatch:
    """The spans of one transaction: they end, and so are exported, only when it has committed.

    A transaction that is rolled back and run again leaves no span of the lost attempt.
    """

    def __init__(self) -> None:
        self._open: list[Span] = []

    def start(
        self,
        name: str,
        kind: SpanKind,
        parent: Context,
        describe: Callable[[], Attributes],
        began: int | None = None,
    ) -> Context:
        """Starts a span below ``parent`` and returns the context of the new span.

        Where a trace is not recorded there is nothing to start or describe: its context is handed
        on. ``began`` is in nanoseconds since 1970, now by default.
        """
        if _is_dropped(parent):
            return parent
        span = _TRACER.start_span(name, parent, kind, describe(), start_time=began)
        self._open.append(span)
        return trace.set_span_in_context(span, parent)

    def finish(self) -> None:
        """Ends all spans, at the same time."""
        now = time.time_ns()
        while self._open:
            self._open.pop().end(now)


def annotate(context: Context, **attributes: Any) -> None:
    """Adds attributes to the span of a context."""
    trace.get_current_span(context).set_attributes(attributes)


def fail(context: Context, error: BaseException) -> None:
    """Marks the span of a context as failed."""
    span = trace.get_current_span(context)
    told = logs.short(error)
    span.add_event("exception", {"exception.type": type(error).__name__, "exception.message": told})
    span.set_status(Status(StatusCode.ERROR, told))


@contextmanager
def span(
    name: str,
    kind: SpanKind = SpanKind.INTERNAL,
    parent: Context | None = None,
    attributes: Attributes | None = None,
) -> Iterator[Span]:
    """A span around a block of code, such as a call to the outside."""
    with _TRACER.start_as_current_span(
        name, context=parent, kind=kind, attributes=attributes
    ) as started:
        yield started
