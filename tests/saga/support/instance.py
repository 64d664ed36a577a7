"""One more instance of a service, started by hand and ended as an operator would."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import httpx

from infra.local.programs import all_programs
from tests.live_stack import LiveStack
from tests.saga.support.wait import until

GRACE = 10.0


class Instance:
    """A process of a service; it shares the service's consumer group and database."""

    def __init__(self, stack: LiveStack, service: str, settings: Mapping[str, str]) -> None:
        port = free_port()
        programs = {program.name: program for program in all_programs(stack.settings)}
        environment = {**os.environ, **programs[service].environment, **settings}
        self.url = f"http://127.0.0.1:{port}"
        # A file, because a pipe that nobody reads stops a process that logs much.
        self._log = stack.settings.layout.logs / f"{service}-one-more.log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", f"services.{service}"],
                env={**environment, "SAGA_HTTP_PORT": str(port)},
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def wait_ready(self) -> None:
        """Waits until it does its work, with partitions of its own."""
        until(self._ready, "the instance to be ready", 60)

    def terminate(self) -> None:
        """Sends SIGTERM."""
        self.process.send_signal(signal.SIGTERM)

    def ended(self) -> tuple[int, float]:
        """The exit code, and for how many seconds it was waited for; fails after the grace time."""
        started = time.monotonic()
        code = self.process.wait(GRACE)
        return code, time.monotonic() - started

    def _ready(self) -> bool:
        ended = self.process.poll() is not None
        assert not ended, f"the instance ended by itself: {self._log.read_text()[-2000:]}"
        try:
            return httpx.get(f"{self.url}/health/ready", timeout=2).is_success
        except httpx.TransportError:
            return False


@contextmanager
def instance(stack: LiveStack, service: str, **settings: str) -> Iterator[Instance]:
    """An instance for as long as the block lasts; one that is still there is killed.

    ``settings`` are names and values of its environment besides those of the service.
    """
    one = Instance(stack, service, settings)
    try:
        yield one
    finally:
        one.process.kill()
        one.process.wait(GRACE)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
