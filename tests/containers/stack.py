"""The running containers as tests see them: the same as the embedded stack."""

import os
import signal
import subprocess
from functools import partial

from infra.docker.network import inside, outside
from infra.local import ready
from infra.local.layout import ROOT
from infra.local.waiting import until
from tests.containers import compose
from tests.containers.engine import Engine
from tests.live_stack import System

PROJECT = "order-saga-test"
WAIT_SECONDS = 900


class ContainerStack(System):
    """docker-compose.yml under a project name and ports of the tests' own."""

    def __init__(self, engine: Engine, ports: str) -> None:
        self.engine = engine
        self.environment = {
            **engine.environment,
            **compose.BUILD,
            "COMPOSE_PROJECT_NAME": PROJECT,
            "SAGA_PORTS": ports,
        }

    def compose(self, *arguments: str, check: bool = True) -> str:
        """What a command of Compose printed; raises CalledProcessError."""
        done = subprocess.run(
            [*compose.command(), *arguments],
            check=check,
            cwd=ROOT,
            env={**os.environ, **self.environment},
            stdout=subprocess.PIPE,
            text=True,
        )
        return done.stdout

    def up(self) -> None:
        """Build, start, wait, and learn the passwords."""
        self.compose("up", "--detach", "--wait", f"--wait-timeout={WAIT_SECONDS}", "--build")
        lines = self.compose(
            "run", "--rm", "--no-TTY", "--no-deps", "--entrypoint=cat", "databases",
            "/secrets/secrets.env",
        ).splitlines()  # fmt: skip
        passwords = dict(line.split("=", 1) for line in lines if "=" in line)
        self.settings = outside(passwords, self.environment)
        self.checks = {
            **ready.common_checks(self.settings),
            "connect": partial(ready.reading, self.settings),
        }

    def down(self) -> None:
        """Remove everything of it."""
        self.compose("--profile=*", "down", "--volumes", "--remove-orphans")

    def leftovers(self) -> list[str]:
        """Containers, volumes and networks that there still are."""
        label = f"--filter=label=com.docker.compose.project={PROJECT}"
        kinds = (("ps", "--all"), ("volume", "ls"), ("network", "ls"))
        return [
            line
            for kind in kinds
            for line in self.engine.docker(*kind, "--quiet", label).splitlines()
        ]

    def relay_source(self) -> tuple[str, int]:
        return inside({}).inside_host_and_port("postgres")

    def container(self, name: str) -> str:
        """The name the engine knows a container by."""
        return f"{PROJECT}-{name}-1"

    def inspect(self, name: str, template: str) -> str:
        """What the engine says of a container."""
        return self.engine.docker("inspect", "--format", template, self.container(name))

    def log(self, name: str) -> str:
        return self.compose("logs", "--no-log-prefix", name)

    def pid(self, name: str) -> int:
        return int(self.inspect(name, "{{.State.Pid}}"))

    def kill(self, name: str) -> None:
        # Not `docker kill`: the engine would take it for a wish, and start nothing again.
        old = self.pid(name)
        os.kill(old, signal.SIGKILL)
        until(lambda: self.pid(name) != old, 60, f"{name} to be gone")

    def stop(self, *names: str) -> None:
        self.engine.docker("stop", *map(self.container, names))

    def start(self, *names: str) -> None:
        # Not by Compose, which would run the steps again that these depend on.
        self.engine.docker("start", *map(self.container, names))
        self.wait_ready(*names)

    def start_what_is_down(self) -> None:
        if down := [name for name in self.checks if not self.pid(name)]:
            self.start(*down)
