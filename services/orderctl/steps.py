"""A long command is a trace of its own: a span for all of it, and one for each of its steps."""

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from opentelemetry import trace
from opentelemetry.trace import Span

from services.eventkit import tracing
from services.orderctl.console import note

_TRACER = trace.get_tracer("order-saga")
_LOOK_SECONDS = 0.5


@dataclass
class Steps:
    """The span of the step that is under way, below the command's own."""

    _name: str = ""
    _open: list[Span] = field(default_factory=list)

    def at(self, name: str) -> None:
        """This step is under way now; the one before has ended."""
        if name != self._name:
            self.end()
            self._name = name
            self._open.append(_TRACER.start_span(name))

    def end(self) -> None:
        """No step is under way any more."""
        while self._open:
            self._open.pop().end()


@contextmanager
def traced(name: str, otlp_endpoint: str, attributes: tracing.Attributes) -> Iterator[Steps]:
    """Traces a command and says under which id; where nobody takes spans, it traces nothing."""
    if not _answers(otlp_endpoint):
        yield Steps()
        return
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # a lost span is no news here
    tracing.setup("orderctl", otlp_endpoint)
    try:
        with tracing.span(name, attributes=attributes) as span:
            steps = Steps()
            try:
                yield steps
            finally:
                steps.end()
        note(f"trace {span.get_span_context().trace_id:032x}")
    finally:
        tracing.shutdown()


def _answers(endpoint: str) -> bool:
    where = urlsplit(endpoint)
    if not where.hostname or not where.port:
        return False
    try:
        socket.create_connection((where.hostname, where.port), _LOOK_SECONDS).close()
    except OSError:
        return False
    return True
