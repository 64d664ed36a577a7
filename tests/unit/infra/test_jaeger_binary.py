"""Where the Jaeger binary is looked for, and what is said while there is none."""

import fcntl
import json
import time
from pathlib import Path

import pytest

from infra.jaeger.binary import JAEGER
from infra.local.errors import StackError
from infra.local.layout import ROOT
from infra.local.render import template

NOTHING = {"PATH": ""}


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_jaeger_bin_comes_first_then_path_then_the_cache(tmp_path: Path) -> None:
    given = executable(tmp_path / "given")
    on_path = executable(tmp_path / "bin" / "jaeger")
    cached = executable(JAEGER.cached(tmp_path))
    path = str(on_path.parent)

    assert JAEGER.find(tmp_path, {"JAEGER_BIN": str(given), "PATH": path}) == given
    assert JAEGER.find(tmp_path, {"JAEGER_BIN": "", "PATH": path}) == on_path
    assert JAEGER.find(tmp_path, NOTHING) == cached


def test_a_cached_binary_is_taken_without_building(tmp_path: Path) -> None:
    cached = executable(JAEGER.cached(tmp_path))
    assert JAEGER.find_or_build(tmp_path, NOTHING) == cached
    assert JAEGER.status(tmp_path, NOTHING) == ""


def test_jaeger_bin_that_cannot_be_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StackError, match="cannot be run"):
        JAEGER.find(tmp_path, {"JAEGER_BIN": str(tmp_path / "none")})


def test_nothing_yet(tmp_path: Path) -> None:
    assert JAEGER.find(tmp_path, NOTHING) is None
    assert JAEGER.status(tmp_path, NOTHING) == "jaeger is not built yet"


def test_a_build_that_runs_tells_its_phase_and_its_time(tmp_path: Path) -> None:
    said = {"phase": "compiling", "since": time.time() - 125, "failed": False}
    (tmp_path / "jaeger-status.json").write_text(json.dumps(said))
    with (tmp_path / "jaeger-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert JAEGER.status(tmp_path, NOTHING) == "building jaeger: compiling, 2 min so far"


def test_a_build_that_was_killed_is_not_told_as_running(tmp_path: Path) -> None:
    said = {"phase": "compiling", "since": time.time(), "failed": False}
    (tmp_path / "jaeger-status.json").write_text(json.dumps(said))
    assert (
        JAEGER.status(tmp_path, NOTHING) == "jaeger was not built: it was stopped while compiling"
    )


def test_a_failure_is_told_with_its_reason(tmp_path: Path) -> None:
    JAEGER.report_failure(tmp_path, "no network")
    assert JAEGER.status(tmp_path, NOTHING) == "jaeger could not be built: no network"


def test_the_configuration_listens_on_this_machine_only() -> None:
    addresses = ("jaeger", "jaeger_grpc", "otlp_grpc", "otlp_http", "jaeger_health")
    values = {name: f"127.0.0.1:{number}" for number, name in enumerate(addresses)}
    text = template("jaeger/jaeger.yaml", {"host": "127.0.0.1", "metrics_port": 9, **values})
    endpoints = [line for line in text.splitlines() if "endpoint:" in line or "host:" in line]
    assert len(endpoints) == len(addresses) + 1
    assert all("127.0.0.1" in line for line in endpoints)


def test_the_pinned_version_is_the_documented_one() -> None:
    module = (ROOT / "infra/jaeger/module/go.mod").read_text()
    assert "github.com/jaegertracing/jaeger v1.76.0" in module
    assert "tool github.com/jaegertracing/jaeger/cmd/jaeger" in module
