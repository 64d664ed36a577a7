"""Every alert can be acted on: it is tested, it has a runbook, and it reads what is emitted."""

import json
import subprocess
from pathlib import Path

import pytest

from infra.local import layout
from infra.names import SERVICES
from infra.prometheus import configuration
from infra.prometheus.programs import Programs, find_or_fetch
from tests.contract.documents import ROOT, Document
from tests.contract.rules import PROMETHEUS, emitted, rule_tests, rules, series_in

RUNBOOKS = ROOT / "docs/operations.md"
FOUR = ("- **Meaning**:", "- **Look**:", "- **Do**:", "- **Done**:")


@pytest.fixture(scope="session")
def programs() -> Programs:
    """Prometheus and promtool; fetched on a machine that has none."""
    return find_or_fetch(layout.load().cache)


def promtool(programs: Programs, *arguments: str | Path) -> None:
    done = subprocess.run(
        [programs.promtool, *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_takes_the_configuration_and_the_rules(
    programs: Programs, tmp_path: Path
) -> None:
    config = configuration.write(tmp_path, lambda part: f"{part}:80")
    promtool(programs, "check", "config", config)


@pytest.mark.parametrize("file", sorted((PROMETHEUS / "tests").glob("*.yml")), ids=lambda p: p.stem)
def test_the_rules_do_what_they_are_to_do(programs: Programs, file: Path) -> None:
    promtool(programs, "test", "rules", file)


def test_every_alert_is_shown_to_fire_and_not_to_fire() -> None:
    names = [rule.name for rule in rules()]
    assert len(names) == len(set(names))
    looks = set(rule_tests())
    assert looks == {(name, fires) for name in names for fires in (True, False)}


def test_every_alert_has_a_runbook_of_four_parts() -> None:
    page = Document(RUNBOOKS)
    for rule in rules():
        path, _, anchor = rule.annotations["runbook_url"].partition("#")
        assert (ROOT / path, anchor) == (RUNBOOKS, rule.name.lower())
        assert anchor in page.anchors, rule.name
        book = page.text.split(f"\n### {rule.name}\n")[1].split("\n##")[0]
        assert [part for part in FOUR if part in book] == list(FOUR), rule.name
        assert rule.severity in ("page", "ticket")
        assert rule.annotations["summary"]
        assert rule.annotations["description"]


def test_no_runbook_without_its_alert() -> None:
    alerts = RUNBOOKS.read_text().split("\n## Alerts\n")[1].split("\n## ")[0]
    written = [line[4:] for line in alerts.splitlines() if line.startswith("### ")]
    assert sorted(written) == sorted(rule.name for rule in rules())


def test_no_alert_reads_what_nobody_emits() -> None:
    unknown = {rule.name: series_in(rule.expr) - emitted() for rule in rules()}
    assert not {name: series for name, series in unknown.items() if series}


def test_every_process_with_metrics_is_scraped_by_its_name() -> None:
    found = json.loads(configuration.targets(lambda part: f"host-of-{part}:80"))
    consumers = {target["labels"]["consumer"] for target in found} - {""}
    assert consumers == set(SERVICES)
    assert {"process": "projector-agent", "consumer": "projector"} in [
        target["labels"] for target in found
    ]
    assert ["host-of-connect_guardian:80"] in [target["targets"] for target in found]
