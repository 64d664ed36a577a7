"""The dashboards can be loaded, and show what the code emits."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.local import layout
from infra.prometheus.programs import find_or_fetch
from tests.contract.documents import ROOT
from tests.contract.rules import DASHBOARDS, emitted, panels, series_in

EACH = pytest.mark.parametrize("file", DASHBOARDS, ids=lambda path: path.stem)
PROCESS_SERIES = {"process_resident_memory_bytes"}
"""What the client library tells of a process by itself."""
COLUMNS = 24


def load(file: Path) -> Any:
    return json.loads(file.read_text())


def expressions(dashboard: Any) -> Iterator[str]:
    for panel in panels(dashboard):
        yield from (target["expr"] for target in panel["targets"])


def test_there_are_three() -> None:
    assert [file.stem for file in DASHBOARDS] == ["pipeline", "saga", "service"]
    assert [load(file)["uid"] for file in DASHBOARDS] == ["pipeline", "saga", "service"]
    assert len({load(file)["title"] for file in DASHBOARDS}) == 3


@EACH
def test_panels_are_whole(file: Path) -> None:
    found = list(panels(load(file)))
    assert len({panel["id"] for panel in found}) == len(found)
    assert len({panel["title"] for panel in found}) == len(found)
    for panel in found:
        assert panel["title"] and panel["targets"], panel["id"]
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        refs = [target["refId"] for target in panel["targets"]]
        assert len(set(refs)) == len(refs), panel["title"]
        assert all(target["expr"].strip() for target in panel["targets"]), panel["title"]


@EACH
def test_panels_do_not_overlap(file: Path) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in panels(load(file)):
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= COLUMNS, panel["title"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells


@EACH
def test_the_data_source_can_be_chosen(file: Path) -> None:
    dashboard = load(file)
    variables = {variable["name"]: variable for variable in dashboard["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    for panel in panels(dashboard):
        sources = [panel["datasource"], *(target["datasource"] for target in panel["targets"])]
        assert {source["uid"] for source in sources} == {"${datasource}"}, panel["title"]
    for name in variables:
        used = f"${name}" in file.read_text() or f"${{{name}}}" in file.read_text()
        assert used, f"nothing uses {name}"


@EACH
def test_no_panel_reads_what_nobody_emits(file: Path) -> None:
    used = {series for expr in expressions(load(file)) for series in series_in(expr)}
    assert used
    assert not used - emitted() - PROCESS_SERIES


def test_prometheus_takes_every_query(tmp_path: Path) -> None:
    """As recording rules, since those are what its tool can check."""
    queries = [
        expr.replace("$__rate_interval", "1m")
        for file in DASHBOARDS
        for expr in expressions(load(file))
    ]
    rules = [
        {"record": f"dashboard:query_{number}:now", "expr": query}
        for number, query in enumerate(queries)
    ]
    written = tmp_path / "queries.yml"
    written.write_text(yaml.safe_dump({"groups": [{"name": "dashboards", "rules": rules}]}))
    promtool = find_or_fetch(layout.load().cache).promtool
    done = subprocess.run(
        [promtool, "check", "rules", written], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_provisioned_is_there() -> None:
    folder = ROOT / "infra/grafana/provisioning"
    (provider,) = yaml.safe_load((folder / "dashboards/order-saga.yml").read_text())["providers"]
    assert provider["options"]["path"].endswith(DASHBOARDS[0].parent.name)
    sources = yaml.safe_load((folder / "datasources/prometheus.yml").read_text())["datasources"]
    assert [source["type"] for source in sources if source.get("isDefault")] == ["prometheus"]
