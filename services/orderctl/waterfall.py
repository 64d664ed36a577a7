"""A trace as a tree of spans with the time each took."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Span:
    """One span; ``start`` and ``duration`` are in microseconds.

    ``outbox_ms`` and ``topic_ms`` are what a consumer says of the way of its record.
    """

    span_id: str
    parent_id: str | None
    name: str
    service: str
    start: int
    duration: int
    failed: bool = False
    kind: str = ""
    outbox_ms: float | None = None
    topic_ms: float | None = None
    tags: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Row:
    """A span at its place in the tree; ``depth`` 0 is a root."""

    span: Span
    depth: int


def spans(trace: Mapping[str, Any]) -> list[Span]:
    """The spans of one trace as Jaeger's ``/api/traces/ID`` returns it."""
    services = {pid: process["serviceName"] for pid, process in trace["processes"].items()}
    return [_span(item, services) for item in trace["spans"]]


def _span(item: Mapping[str, Any], services: Mapping[str, str]) -> Span:
    tags = {tag["key"]: tag["value"] for tag in item.get("tags", ())}
    return Span(
        span_id=item["spanID"],
        parent_id=_parent(item),
        name=item["operationName"],
        service=services[item["processID"]],
        start=int(item["startTime"]),
        duration=int(item["duration"]),
        failed=bool(tags.get("error")),
        kind=str(tags.get("span.kind", "")),
        outbox_ms=_number(tags.get("saga.outbox_ms")),
        topic_ms=_number(tags.get("saga.topic_ms")),
        tags=tags,
    )


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _parent(item: Mapping[str, Any]) -> str | None:
    """The parent within the trace; Jaeger lists it as a reference beside mere links."""
    for reference in item.get("references", ()):
        if reference["refType"] == "CHILD_OF" and reference["traceID"] == item["traceID"]:
            return str(reference["spanID"])
    return None


def by_id(found: Sequence[Span]) -> dict[str, Span]:
    """The spans by their ids."""
    return {span.span_id: span for span in found}


def way_to(found: Sequence[Span], leaf: Span) -> list[Span]:
    """The spans from a root down to ``leaf``."""
    known, way = by_id(found), []
    span: Span | None = leaf
    while span is not None:
        way.append(span)
        span = known.get(span.parent_id or "")
    return way[::-1]


def tree(found: Sequence[Span]) -> list[Row]:
    """The spans depth first, siblings by start; a span whose parent is not there is a root."""
    known = {span.span_id for span in found}
    children: dict[str | None, list[Span]] = defaultdict(list)
    for span in sorted(found, key=lambda span: (span.start, span.span_id)):
        children[span.parent_id if span.parent_id in known else None].append(span)
    return list(_walk(None, children, 0))


def _walk(
    parent: str | None, children: Mapping[str | None, list[Span]], depth: int
) -> Iterator[Row]:
    for span in children.get(parent, ()):
        yield Row(span, depth)
        yield from _walk(span.span_id, children, depth + 1)


def bar(span: Span, start: int, total: int, width: int) -> str:
    """The span's place and length on a line of ``width`` characters; never shorter than one."""
    scale = width / max(total, 1)
    left = min(width - 1, int((span.start - start) * scale))
    length = max(1, min(width - left, round(span.duration * scale)))
    return " " * left + "━" * length


def extent(found: Sequence[Span]) -> tuple[int, int]:
    """Where the trace starts and how long it is, in microseconds."""
    start = min(span.start for span in found)
    return start, max(span.start + span.duration for span in found) - start
