"""The stack that integration and saga tests run on, with ports and a state folder of its own."""

import os
from collections.abc import Iterator

import pytest
from _pytest.nodeid import NodeId

from infra.local import layout, lifecycle
from infra.local.supervisor import Supervisor
from tests.containers import images
from tests.containers.engine import Engine, engine
from tests.containers.ground import EMBEDDED, containers, ground_kind
from tests.live_stack import Ground, LiveStack

PORT_BASE = "22800"
STATE_DIR = ".state-test"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With ``-n``, one process has the stack and all tests that use it, in their order."""
    for item in items:
        if {"stack", "ground"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.xdist_group("stack"))
            if hasattr(config, "workerinput"):
                # pytest-xdist 3.8 puts the group where pytest 9.2 does not look any more, and
                # every process would begin tests of the one stack.
                item._id = NodeId.parse(f"{item.nodeid}@stack")


@pytest.fixture(scope="session")
def stack() -> Iterator[LiveStack]:
    """A whole stack with nothing in it; one that is already running is taken as it is.

    It is stopped at the end unless SAGA_KEEP_STACK=1. Its logs and data stay until the next run.
    TEST_PORT_BASE and TEST_STATE_DIR move it.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PORT_BASE", os.environ.get("TEST_PORT_BASE", PORT_BASE))
        patch.setenv("SAGA_STATE_DIR", os.environ.get("TEST_STATE_DIR", STATE_DIR))
        where = layout.load()
        patch.setenv("SAGA_ENV_FILE", str(where.orderctl_env))
        if not Supervisor(where).running():
            lifecycle.purge()
        try:
            yield LiveStack(lifecycle.up())
        finally:
            if os.environ.get("SAGA_KEEP_STACK") != "1":
                lifecycle.down()


def pytest_report_header() -> str:
    """Which of the two ways the integration tests are run on."""
    return f"integration tests stand on: {ground_kind()}"


@pytest.fixture(scope="session")
def docker() -> Iterator[Engine]:
    """An engine with the images: a person's own, which pulls, else one of the tests' own."""
    with engine() as found:
        if found.ours:
            images.ensure(found)
        yield found


@pytest.fixture(scope="session")
def ground(request: pytest.FixtureRequest) -> Iterator[Ground]:
    """PostgreSQL, Kafka and the registry: in containers where there is an engine with the images.

    Else those of the embedded stack. TEST_GROUND=containers or TEST_GROUND=embedded decides.
    """
    if ground_kind() == EMBEDDED:
        yield request.getfixturevalue("stack")
    else:
        with containers(request.getfixturevalue("docker")) as made:
            yield made
