"""Reading traces from Jaeger."""

from collections.abc import Iterator, Mapping

from services.orderctl.client import Http
from services.orderctl.waterfall import Span, spans


def spans_of(jaeger: Http, trace_id: str) -> list[Span]:
    """The spans of a trace that Jaeger has so far; none before the first arrives."""
    answer = jaeger.find(f"/api/traces/{trace_id}")
    return spans(answer["data"][0]) if answer and answer["data"] else []


def batches_of(jaeger: Http, trace_id: str) -> dict[str, list[Span]]:
    """For each span of a consumer, by its id, the spans of other traces that it is linked to."""
    (trace,) = jaeger.call("GET", f"/api/traces/{trace_id}")["data"]
    return {
        item["spanID"]: [
            _span_of(jaeger, reference)
            for reference in item["references"]
            if reference["traceID"] != trace_id
        ]
        for item in trace["spans"]
        if item["operationName"].startswith("process ")
    }


def _span_of(jaeger: Http, reference: Mapping[str, str]) -> Span:
    there = spans_of(jaeger, reference["traceID"])
    found = [span for span in there if span.span_id == reference["spanID"]]
    assert found, f"{reference} has not arrived"
    return found[0]


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
