"""The image of the services is what docs/containers.md says: size, account, rights, start."""

import re
from datetime import UTC, datetime

import pytest

from infra.local.layout import ROOT
from infra.names import EMITTERS
from tests.containers.engine import Engine
from tests.containers.stack import ContainerStack
from tests.saga.support.saga import Saga

IMAGE = "order-saga:local"
OURS = (*EMITTERS, "projector-agent", "projector-api", "connect-guardian", "mail-sink")
PAGE = (ROOT / "docs/containers.md").read_text()


def test_c65_every_image_is_built_from_the_lock_and_the_real_projector_starts(
    stack: ContainerStack, saga: Saga
) -> None:
    """A clean build, what is in it, and an order that the Faust agent has seen."""
    listed = stack.compose(
        "exec", "--no-TTY", "projector-agent", "python", "-c",
        "from importlib.metadata import distributions as all_of\n"
        "for one in all_of(): print(one.name + '==' + one.version)",
    )  # fmt: skip
    installed = {_normal(line) for line in listed.split()}
    lock = (ROOT / "requirements.lock").read_text()
    pinned = {_normal(pin) for pin in re.findall(r"^([\w.\-]+==[^\s;]+)", lock, re.MULTILINE)}
    assert installed <= pinned
    assert any(name.startswith("faust-streaming==") for name in installed)
    assert not any(name.startswith(("pytest==", "mypy==")) for name in installed)

    order_id = saga.place()
    assert saga.ended(order_id) == "confirmed"
    saga.verify()


def test_it_is_no_larger_than_the_page_says(docker: Engine, stack: ContainerStack) -> None:
    (limit,) = re.findall(r"adds less than (\d+) MB", PAGE)
    layers = docker.docker("history", "--human=false", "--format={{.Size}}", IMAGE).split()
    base = docker.docker("history", "--human=false", "--format={{.Size}}", "python:3.11-slim")
    added = sum(map(int, layers)) - sum(map(int, base.split()))
    assert added < int(limit) * 1_000_000


@pytest.mark.parametrize("name", OURS)
def test_it_runs_without_rights(stack: ContainerStack, name: str) -> None:
    assert stack.inspect(name, "{{.Config.User}}") == "10001"
    assert stack.inspect(name, "{{.HostConfig.ReadonlyRootfs}}") == "true"
    status = stack.compose("exec", "--no-TTY", name, "cat", "/proc/self/status")
    assert re.search(r"^Uid:\s+10001\s", status, re.MULTILINE)
    assert re.search(r"^CapBnd:\s+0+$", status, re.MULTILINE)
    assert re.search(r"^NoNewPrivs:\s+1$", status, re.MULTILINE)
    write = "touch /app/x 2>/dev/null || touch /conf/x 2>/dev/null || echo refused"
    assert "refused" in stack.compose("exec", "--no-TTY", name, "sh", "-c", write)


def test_a_service_is_ready_as_soon_as_the_page_says(stack: ContainerStack) -> None:
    (seconds,) = re.findall(r"ready within (\d+) s", PAGE)
    stack.stop("payment")
    stack.start("payment")
    started = datetime.fromisoformat(
        re.sub(r"\.\d+Z$", "+00:00", stack.inspect("payment", "{{.State.StartedAt}}"))
    )
    assert (datetime.now(UTC) - started).total_seconds() < float(seconds)


def test_passwords_do_not_show_in_the_environment(stack: ContainerStack) -> None:
    for name in (*OURS, "postgres", "broker", "connect", "registry"):
        shown = stack.inspect(name, "{{.Config.Env}} {{.Config.Cmd}}")
        assert not [one for one in stack.settings.passwords.values() if one in shown]


def _normal(pin: str) -> str:
    name, _, version = pin.partition("==")
    return f"{re.sub(r'[-_.]+', '-', name).lower()}=={version}"
