"""A trace as a tree of spans with the time each took."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Span:
    """One span; ``start`` and ``duration`` are in microseconds."""

    span_id: str
    parent_id: str | None
    name: str
    service: str
    start: int
    duration: int
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A span at its place in the tree; ``depth`` 0 is a root."""

    span: Span
    depth: int


def spans(trace: Mapping[str, Any]) -> list[Span]:
    """The spans of one trace as Jaeger's ``/api/traces/ID`` returns it."""
    services = {pid: process["serviceName"] for pid, process in trace["processes"].items()}
    return [
        Span(
            span_id=item["spanID"],
            parent_id=_parent(item),
            name=item["operationName"],
            service=services[item["processID"]],
            start=int(item["startTime"]),
            duration=int(item["duration"]),
            failed=any(tag["key"] == "error" and tag["value"] for tag in item.get("tags", ())),
        )
        for item in trace["spans"]
    ]


def _parent(item: Mapping[str, Any]) -> str | None:
    """The parent within the trace; Jaeger lists it as a reference beside mere links."""
    for reference in item.get("references", ()):
        if reference["refType"] == "CHILD_OF" and reference["traceID"] == item["traceID"]:
            return str(reference["spanID"])
    return None


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
