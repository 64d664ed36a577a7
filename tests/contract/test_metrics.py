"""docs/metrics.md is what the code emits, and the names follow one scheme."""

import re

from docs.generate_metrics import MODULES, TARGET, collect, render
from tests.contract.documents import ROOT

MADE = re.compile(r'\b(?:Counter|Gauge|Histogram|Summary)\(\s*"(\w+)"')
UNITS = ("seconds", "bytes", "rows", "events", "records", "orders", "jobs", "members", "clients")
STATES = ("open", "closed", "running", "answers", "state", "offset")
FORBIDDEN = {"order_id", "key", "tenant", "tenant_id", "customer", "message_id", "job", "path"}


def test_the_page_is_up_to_date() -> None:
    assert TARGET.read_text() == render(collect()), "run: python -m docs.generate_metrics"


def test_every_module_that_makes_metrics_is_on_the_page() -> None:
    made = {
        name
        for folder in ("services", "infra")
        for path in (ROOT / folder).rglob("*.py")
        for name in MADE.findall(path.read_text())
    }
    assert made == {metric.name for metric in collect()}, sorted(MODULES)


def test_names_end_with_their_unit_and_labels_are_bounded() -> None:
    for metric in collect():
        assert metric.name.startswith("saga_")
        endings = ("total",) if metric.kind == "counter" else (*UNITS, *STATES)
        assert metric.name.endswith(endings), metric.name
        assert not FORBIDDEN & set(metric.labels), metric
        assert metric.text, metric.name
