"""Make docs/metrics.md from the metrics in the code: ``python -m docs.generate_metrics [--check]``.

What a metric counts is said where it is made; here it only becomes a table.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from prometheus_client import Counter, Gauge, Histogram

from docs.generated import finish

HERE = Path(__file__).parent
TARGET = HERE / "metrics.md"

EVERY_SERVICE = "each service"
MODULES: Mapping[str, str] = {
    "services.eventkit.metrics": EVERY_SERVICE,
    "services.eventkit.access": EVERY_SERVICE,
    "services.eventkit.feed": EVERY_SERVICE,
    "services.order.admission": "order",
    "services.order.endings": "order",
    "services.order.waiting": "order",
    "services.projector.lag": "projector-api",
    "infra.connect.guardian": "connect-guardian",
    "infra.connect.readers": "connect-guardian",
}
"""Every module that makes metrics, and the process that serves them."""

PAGE = """# Metrics

Made from the code by `python -m docs.generate_metrics`; a test keeps it up to date. Each process
serves its own on `/metrics`. Where a row says *each service*, the projector's processes have those
that apply to them. Names begin with `saga_` and end with their unit; `_total` is a counter. Labels
are names of types, routes, steps and remotes: never ids, never tenants, so their number is bounded.

Gauges that are counted by SQL are counted every five seconds, however often they are read. Several
processes of one service each tell the same figure: take `max`, not `sum`, of these.

{tables}
What is alerted on, and what to do then: [operations.md](operations.md#alerts).
"""


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric as Prometheus sees it; a histogram's name is without its suffixes."""

    name: str
    kind: str
    labels: tuple[str, ...]
    text: str
    process: str

    @property
    def series(self) -> frozenset[str]:
        """The names that a query may use."""
        suffixes = ("_bucket", "_sum", "_count") if self.kind == "histogram" else ("",)
        return frozenset(self.name + suffix for suffix in suffixes)


def collect() -> list[Metric]:
    """Every metric that the code makes, each once, where it is made."""
    found = [metric for module, process in MODULES.items() for metric in _of(module, process)]
    return list({metric.name: metric for metric in reversed(found)}.values())[::-1]


def _of(module: str, process: str) -> Iterator[Metric]:
    for value in vars(import_module(module)).values():
        if isinstance(value, Counter | Gauge | Histogram):
            (family,) = value.describe()
            name = family.name + ("_total" if family.type == "counter" else "")
            labels: Any = value._labelnames
            yield Metric(name, family.type, tuple(labels), family.documentation, process)


def render(metrics: list[Metric]) -> str:
    """The whole page."""
    processes = list(dict.fromkeys(metric.process for metric in metrics))
    return PAGE.format(tables="\n".join(_table(process, metrics) for process in processes))


def _table(process: str, metrics: list[Metric]) -> str:
    rows = "".join(
        f"| `{metric.name}` | {metric.kind} | {', '.join(f'`{x}`' for x in metric.labels)} "
        f"| {metric.text} |\n"
        for metric in metrics
        if metric.process == process
    )
    header = "| Metric | Kind | Labels | What it tells |\n| --- | --- | --- | --- |\n"
    return f"## {process}\n\n{header}{rows}"


if __name__ == "__main__":
    sys.exit(finish(TARGET, render(collect()), "docs.generate_metrics"))
