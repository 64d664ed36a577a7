"""docker-compose.yml says what it must, whatever the profiles; no engine is needed to ask."""

import os
import re
import subprocess
from functools import cache
from itertools import chain, combinations
from typing import Any

import pytest

from infra.docker.files import all_files
from infra.docker.network import HOSTS, published
from infra.local import ports
from infra.local.layout import ROOT
from infra.local.passwords import NAMES
from tests.containers import compose

PROFILES = ("tools", "observability")
STEPS = {"configure", "databases", "topics", "schemas", "connectors"}
OTHERS = {"postgres", "broker", "registry", "connect", "jaeger", "mailpit", "prometheus", "grafana"}
"""Containers of images that are not ours."""
# It publishes its page under the number in ports.toml, but listens on its own.
FOREIGN_PORTS = {"mailpit": 8025}
DOCKERFILE = (ROOT / "Dockerfile").read_text()
JARS = (ROOT / "infra/jars.lock").read_text()


@cache
def services(sets: str = "") -> dict[str, Any]:
    """All services there are, with SAGA_PORTS set as given."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("SAGA_")}
    named = {"SAGA_PORTS": sets} if sets else {}
    found: dict[str, Any] = compose.described(env | named, *PROFILES)["services"]
    return found


def all_profiles() -> list[tuple[str, ...]]:
    """Every combination of profiles."""
    sizes = range(len(PROFILES) + 1)
    return list(chain.from_iterable(combinations(PROFILES, size) for size in sizes))


@pytest.mark.parametrize("profiles", all_profiles(), ids=lambda named: "+".join(named) or "none")
def test_compose_accepts_the_file(profiles: tuple[str, ...]) -> None:
    options = [f"--profile={profile}" for profile in profiles]
    done = subprocess.run(
        [*compose.command(), *options, "config", "-q"],
        check=False,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_every_port_is_on_this_machine_only_and_the_one_in_the_list_of_ports() -> None:
    planned = ports.load({})
    known = {name: (host, planned[name]) for name, host in HOSTS.items()}
    for name, service in services().items():
        for port in service.get("ports", ()):
            assert port["host_ip"] == "127.0.0.1"
            outside = int(port["published"])
            part = next(part for part, number in planned.items() if number == outside)
            assert known[part][0] == name
            inside = FOREIGN_PORTS.get(name, outside)
            # The broker has a listener of its own for whoever comes from outside.
            assert port["target"] == (planned["kafka_proxied"] if part == "kafka" else inside)


def test_all_ports_move_together() -> None:
    moved = published({"SAGA_PORTS": "333"})
    found = {
        int(port["published"]) for one in services("333").values() for port in one.get("ports", ())
    }

    assert found
    assert found <= set(moved.values())


def test_no_password_is_in_the_file_and_every_container_sees_its_own_files_only() -> None:
    for name, service in services().items():
        mounted = {one["source"]: one for one in service.get("volumes", ())}
        if name == "configure":
            continue
        assert {one for one in mounted if one.startswith("conf-")} <= {f"conf-{name}"}
        assert "secrets" not in mounted or name in STEPS
        assert all(mounted[one].get("read_only") for one in mounted if one.startswith("conf-"))
    named = {f"conf-{name}" for name in all_files(dict.fromkeys(NAMES, "secret"))}
    configured = {one["source"] for one in services()["configure"]["volumes"]}
    assert configured == named | {"secrets"}
    assert all(f"{one.removeprefix('conf-')}" in DOCKERFILE for one in named)


def test_processes_of_ours_have_no_rights_to_spare() -> None:
    for name, service in services().items():
        if name not in OTHERS:
            assert service["image"] == "order-saga:local"
            assert service["read_only"]
            assert service["cap_drop"] == ["ALL"]
            assert service["security_opt"] == ["no-new-privileges:true"]
    assert re.search(r"^USER 10001$", DOCKERFILE, re.MULTILINE)


def test_everything_has_a_limit_a_check_and_time_to_stop() -> None:
    for name, service in services().items():
        assert service["mem_limit"]
        if name in STEPS | {"orderctl"}:
            continue
        assert service["restart"] == "always"
        # Mailpit's image brings its own check, and loses nothing that anyone counts.
        if name != "mailpit":
            assert service["healthcheck"]["test"]
            seconds = re.fullmatch(r"(?:(\d+)m)?(\d+)s", service["stop_grace_period"])
            assert seconds
            assert int(seconds[1] or 0) * 60 + int(seconds[2]) >= 15


def test_images_are_pinned_and_installed_by_the_same_uv() -> None:
    images = [service["image"] for service in services().values()]
    assert all(re.search(r":(v?\d+\.\d+[\d.]*|local)$", image) for image in images)
    makefile = (ROOT / "Makefile").read_text()
    (version,) = re.findall(r"^UV_VERSION := (.+)$", makefile, re.MULTILINE)
    assert f"ARG UV_VERSION={version}\n" in DOCKERFILE
    assert f"uv=={version}\n" in (ROOT / "tests/containers/standins/Dockerfile").read_text()
    (lock,) = re.findall(r"^kafka +org\.apache\.kafka:kafka_2\.13:(\S+)", JARS, re.MULTILINE)
    assert services()["broker"]["image"] == f"apache/kafka:{lock}"
    assert f"FROM apache/kafka:{lock} AS connect" in DOCKERFILE
