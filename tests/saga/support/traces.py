"""Reading traces from Jaeger."""

from collections.abc import Iterator

from services.orderctl.client import Http
from services.orderctl.waterfall import Span, spans


def spans_of(jaeger: Http, trace_id: str) -> list[Span]:
    """The spans of a trace that Jaeger has so far; none before the first arrives."""
    answer = jaeger.find(f"/api/traces/{trace_id}")
    return spans(answer["data"][0]) if answer and answer["data"] else []


def roots_since(jaeger: Http, service: str, start_us: int) -> list[Span]:
    """The first spans of all traces that a service began after a time (microseconds, UTC)."""
    answer = jaeger.call(
        "GET", "/api/traces", params={"service": service, "start": start_us, "limit": 500}
    )
    return [
        span
        for trace in answer["data"]
        for span in spans(trace)
        if span.parent_id is None and span.service == service
    ]


def chain(found: list[Span], leaf: Span) -> list[str]:
    """The way to a span from the root, as ``service: name``."""
    by_id = {span.span_id: span for span in found}

    def upwards(span: Span | None) -> Iterator[str]:
        while span is not None:
            yield f"{span.service}: {span.name}"
            span = by_id.get(span.parent_id or "")

    return list(upwards(leaf))[::-1]
