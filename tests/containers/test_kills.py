"""kill -9 of containers while orders go on: the engine starts them again, and nothing is lost."""

import subprocess
import sys

import pytest

from tests.containers.stack import ContainerStack
from tests.saga.support.orderctl import orderctl
from tests.saga.support.saga import Saga


@pytest.mark.timeout(900)
def test_a_killed_service_and_a_killed_connect_lose_nothing(
    stack: ContainerStack, saga: Saga
) -> None:
    load = [sys.executable, "-m", "services.orderctl", "load", "--rate", "4", "--orders", "60"]
    with subprocess.Popen(load, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as under_load:
        for name in ("payment", "connect"):
            with saga.ordering():
                saga.more_orders(2)
                stack.kill(name)
                stack.wait_ready(name, seconds=240)
        under_load.communicate(timeout=400)

    verified = orderctl("verify", "--wait", "200", seconds=400)
    assert verified.returncode == 0, verified.stdout


def test_a_stopped_service_ends_by_itself_before_the_engine_loses_patience(
    stack: ContainerStack,
) -> None:
    stack.stop("inventory")
    assert stack.inspect("inventory", "{{.State.ExitCode}}") in ("0", "143")
    stack.start("inventory")
