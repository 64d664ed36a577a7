"""The spans of what a consumer took at once: one for each event, and one for the batch.

An event's span lies in the trace of its saga, the batch's in a trace of its own, and the first is
linked to the second. Names and attributes follow the OpenTelemetry conventions for messaging.
"""

import time

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import SpanContext, SpanKind

from services.eventkit import hops, tracing
from services.eventkit.records import Message


class TakenSpans(tracing.SpanBatch):
    """The spans of one transaction of a consumer, of ``size`` records; all begin and end with it.

    The batch's span is begun once an event of it is recorded, so there is none without one.
    """

    def __init__(self, group: str, size: int) -> None:
        super().__init__()
        self._group = group
        self._size = size
        self._began = time.time_ns()
        self._batch: SpanContext | None = None

    def process(self, message: Message) -> Context:
        """Starts the span of an event, where its trace is recorded, and returns its context."""
        context = self.start(
            f"process {message.record.topic}",
            SpanKind.CONSUMER,
            tracing.context_of(message.envelope.traceparent),
            lambda: self._of_event(message),
            self._began,
        )
        span = trace.get_current_span(context)
        if span.is_recording():
            span.add_link(self._linked())
        return context

    def _linked(self) -> SpanContext:
        if self._batch is None:
            context = self.start(
                "process batch", SpanKind.CONSUMER, Context(), self._of_batch, self._began
            )
            self._batch = trace.get_current_span(context).get_span_context()
        return self._batch

    def _of_batch(self) -> tracing.Attributes:
        return {**self._common(), tracing.BATCH_SIZE: self._size}

    def _of_event(self, message: Message) -> tracing.Attributes:
        record, event = message.record, message.event
        return {
            **self._common(),
            "messaging.destination.name": record.topic,
            "messaging.destination.partition.id": str(record.partition),
            "messaging.kafka.offset": record.offset,
            "messaging.kafka.message.key": event.key,
            "messaging.message.id": str(message.id),
            "saga.event_type": event.type,
            **hops.attributes(record, event.time),
        }

    def _common(self) -> tracing.Attributes:
        return {
            "messaging.system": "kafka",
            "messaging.operation.type": "process",
            "messaging.operation.name": "process",
            "messaging.consumer.group.name": self._group,
        }
