"""The containers, up for the session, under the names that the saga tests use."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.containers.engine import Engine
from tests.containers.stack import ContainerStack
from tests.saga.conftest import faults, saga, settings, shop, topics

__all__ = ["faults", "saga", "settings", "shop", "topics"]

PORTS = "228"


@pytest.fixture(scope="session")
def stack(docker: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ContainerStack]:
    """All containers, with nothing in them. TEST_PORT_BASE moves them."""
    ports = os.environ.get("TEST_PORT_BASE", "")[:-2] or PORTS
    running = ContainerStack(docker, ports)
    running.down()
    try:
        print(f"\nengine: {'started for the tests, with stand-ins' if docker.ours else 'found'}")
        running.up()
        env_file = tmp_path_factory.mktemp("containers") / "orderctl.env"
        _write(env_file, running.env)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SAGA_ENV_FILE", str(env_file))
            yield running
    except BaseException:
        print(running.compose("ps", "--all", check=False))
        raise
    finally:
        running.down()


def _write(path: Path, values: dict[str, str]) -> None:
    path.write_text("".join(f"{name}={value}\n" for name, value in values.items()))
