"""The stack that integration and saga tests run on, with ports and a state folder of its own."""

import os
from collections.abc import Iterator

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from infra.local import layout, lifecycle
from infra.local.supervisor import Supervisor
from tests.containers import images
from tests.containers.engine import Engine, engine
from tests.containers.ground import EMBEDDED, containers, ground_kind
from tests.live_stack import Ground, LiveStack

PORT_BASE = "22800"
STATE_DIR = ".state-test"
ON_THE_STACK = ("tests/integration/", "tests/saga/", "tests/contract/test_registry.py")


class OneStack(LoadScopeScheduling):  # type: ignore[misc]
    """With ``-n``, one process has the stack and all tests that use it, in their order."""

    def _split_scope(self, nodeid: str) -> str:
        return "stack" if nodeid.startswith(ON_THE_STACK) else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> OneStack:
    """Deals the tests out to processes."""
    return OneStack(config, log)


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
