"""PostgreSQL, Kafka and the registry in containers, each as docker-compose.yml has it."""

import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from infra.docker import steps
from infra.docker.files import all_files
from infra.docker.network import outside
from infra.local import ready
from infra.local.passwords import NAMES
from infra.local.waiting import until
from tests.containers import compose
from tests.containers.engine import Engine, answering
from tests.live_stack import Ground

EMBEDDED, CONTAINERS = "embedded", "containers"
PORTS = "229"
READY_SECONDS = 300
PARTS = ("postgres", "broker", "registry")


@cache
def ground_kind() -> str:
    """``containers`` where an engine answers that has the images, else ``embedded``."""
    if chosen := os.environ.get("TEST_GROUND"):
        return chosen
    engine = answering()
    return CONTAINERS if engine and all(map(engine.has, _images())) else EMBEDDED


def _images() -> list[str]:
    return [service["image"] for service in _services().values()]


def _services() -> dict[str, Any]:
    described = compose.described({**os.environ, "SAGA_PORTS": PORTS})["services"]
    return {name: described[name] for name in PARTS}


@contextmanager
def containers(engine: Engine) -> Iterator[Ground]:
    """The three with everything set up in them, gone at the end."""
    environ = {"SAGA_PORTS": PORTS}
    passwords = {name: secrets.token_hex(20) for name in NAMES}
    ground = Ground()
    ground.settings = outside(passwords, environ)
    checks = ready.common_checks(ground.settings)
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        # Read when it is imported, and when a client is made.
        patch.setenv("TESTCONTAINERS_RYUK_DISABLED", "true")
        patch.setenv("TESTCONTAINERS_CONNECTION_MODE", "docker_host")
        for name, value in engine.environment.items():
            patch.setenv(name, value)
        from testcontainers.core.network import Network

        network = stack.enter_context(Network())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        files = all_files(passwords, environ)
        for name, service in _services().items():
            if name == "registry":
                steps.databases(ground.settings)
            conf = _write(folder / name, files[name])
            stack.enter_context(_container(network, name, service, conf))
            until(lambda check=checks[name]: not check(), READY_SECONDS, name)  # type: ignore[misc]
        steps.topics(ground.settings)
        steps.schemas(ground.settings)
        yield ground


def _container(network: Any, name: str, service: Mapping[str, Any], conf: Path) -> Any:
    from testcontainers.core.container import DockerContainer

    made = DockerContainer(service["image"])
    made.with_network(network).with_network_aliases(name)
    made.with_volume_mapping(conf, "/conf", "ro")
    made.with_command(service["command"])
    if service.get("entrypoint"):
        made.with_kwargs(entrypoint=service["entrypoint"])
    for variable, value in (service.get("environment") or {}).items():
        made.with_env(variable, value)
    for port in service["ports"]:
        # It takes no address of the machine, but passes on what it is given.
        made.ports[str(port["target"])] = (port["host_ip"], int(port["published"]))  # type: ignore[assignment]
    return made


def _write(folder: Path, files: Mapping[str, str]) -> Path:
    # Every account in a container may read them, so nobody else may enter the folder above.
    folder.mkdir()
    folder.chmod(0o755)
    for name, text in files.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o644)
    return folder
