from typing import Any

from services.orderctl.waterfall import Span, bar, extent, spans, tree


def span(span_id: str, parent: str | None, start: int, duration: int = 10) -> Span:
    return Span(span_id, parent, f"span {span_id}", "order", start, duration)


def jaeger_span(span_id: str, references: list[dict[str, str]], **over: Any) -> dict[str, Any]:
    fields = {"operationName": "send order.events", "startTime": 1000, "duration": 50, "tags": []}
    return {
        "traceID": "t",
        "spanID": span_id,
        "processID": "p1",
        "references": references,
        **fields,
        **over,
    }


def test_spans_are_read_from_jaeger() -> None:
    parent = {"refType": "CHILD_OF", "traceID": "t", "spanID": "a"}
    trace = {
        "processes": {"p1": {"serviceName": "order"}},
        "spans": [
            jaeger_span("a", []),
            jaeger_span("b", [parent], tags=[{"key": "error", "value": True}]),
            jaeger_span("c", [{"refType": "FOLLOWS_FROM", "traceID": "t", "spanID": "a"}]),
            jaeger_span("d", [{"refType": "CHILD_OF", "traceID": "other", "spanID": "a"}]),
        ],
    }
    found = {s.span_id: s for s in spans(trace)}
    assert [found[i].parent_id for i in "abcd"] == [None, "a", None, None]
    assert found["b"].failed and not found["a"].failed
    assert (found["a"].service, found["a"].start, found["a"].duration) == ("order", 1000, 50)


def test_the_tree_is_depth_first_with_siblings_by_start() -> None:
    found = [span("c", "a", 30), span("a", None, 0), span("d", "b", 25), span("b", "a", 20)]
    assert [(row.span.span_id, row.depth) for row in tree(found)] == [
        ("a", 0),
        ("b", 1),
        ("d", 2),
        ("c", 1),
    ]


def test_a_span_without_its_parent_is_a_root() -> None:
    assert [row.depth for row in tree([span("a", "lost", 0), span("b", "a", 1)])] == [0, 1]


def test_bars_show_place_and_length() -> None:
    found = [span("a", None, 1000, 100), span("b", "a", 1050, 25), span("c", "a", 1100, 0)]
    start, total = extent(found)
    assert (start, total) == (1000, 100)
    assert [bar(s, start, total, 20) for s in found] == [
        "━" * 20,
        " " * 10 + "━" * 5,
        " " * 19 + "━",
    ]
    assert bar(span("x", None, 5, 0), 5, 0, 10) == "━"
