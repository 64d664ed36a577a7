"""The alerting rules and dashboards as tests read them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from docs.generate_metrics import collect
from tests.contract.documents import ROOT

PROMETHEUS = ROOT / "infra/prometheus"
DASHBOARDS = sorted((ROOT / "infra/grafana/dashboards").glob("*.json"))
OWN = frozenset({"up", "ALERTS"})
"""Series that Prometheus itself makes."""

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_SERIES = re.compile(r"\b(?:saga_\w+|up|ALERTS)\b")


@dataclass(frozen=True)
class Rule:
    """One alerting rule, in the file it stands in."""

    file: Path
    name: str
    expr: str
    severity: str
    annotations: dict[str, str]


def rules() -> Iterator[Rule]:
    """Every rule of every file."""
    for file in sorted((PROMETHEUS / "rules").glob("*.yml")):
        for group in yaml.safe_load(file.read_text())["groups"]:
            for rule in group["rules"]:
                severity = rule["labels"]["severity"]
                yield Rule(file, rule["alert"], rule["expr"], severity, rule["annotations"])


def rule_tests() -> Iterator[tuple[str, bool]]:
    """Each look of a promtool test at an alert: its name, and whether it is expected to fire."""
    for file in sorted((PROMETHEUS / "tests").glob("*.yml")):
        for case in yaml.safe_load(file.read_text())["tests"]:
            for look in case["alert_rule_test"]:
                yield look["alertname"], bool(look["exp_alerts"])


def emitted() -> frozenset[str]:
    """Every series that the code emits, and those of Prometheus itself."""
    return OWN.union(*(metric.series for metric in collect()))


def series_in(expression: str) -> set[str]:
    """The series that a query reads."""
    return set(_SERIES.findall(_STRING.sub('""', expression)))


def panels(dashboard: Any) -> Iterator[Any]:
    """Every panel that shows something, those of rows included."""
    for panel in dashboard["panels"]:
        yield from (one for one in (panel, *panel.get("panels", ())) if one["type"] != "row")
