"""A running stack as tests see it: addresses, accounts, and a hand on every process."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path

import psutil
import psycopg

from infra.local import lifecycle, postgres, ready
from infra.local.ports import HOST, Ports
from infra.local.ready import Check
from infra.local.stack import Stack
from infra.local.supervisor import Supervisor
from infra.local.waiting import until
from infra.names import database
from infra.wiring import Wiring


class Ground:
    """What services stand on: a database server, a broker, a schema registry."""

    settings: Wiring

    @property
    def ports(self) -> Ports:
        """The ports on this machine."""
        return self.settings.ports

    @property
    def env(self) -> dict[str, str]:
        """What orderctl reads."""
        return self.settings.orderctl()

    def url(self, name: str) -> str:
        """The HTTP address of a part by its name in ``infra/ports.toml``."""
        return self.settings.url(name)

    def auditor_url(self, service: str) -> str:
        """SQLAlchemy's address of a service's database, read-only."""
        return self.settings.database_url("auditor", database(service))

    def admin(self, name: str = "postgres") -> psycopg.Connection:
        """A superuser's connection to a database, in autocommit mode."""
        return postgres.admin(self.settings, name)


class System(Ground, ABC):
    """A running system. Processes go by the names that ``make status`` lists."""

    checks: Mapping[str, Check]

    def restart(self, *names: str) -> None:
        """Stop processes, start them, and wait until they are ready."""
        self.stop(*names)
        self.start(*names)

    def wait_ready(self, *names: str, seconds: float = 90) -> None:
        """Wait until the processes do their work; all of the system when none is named."""
        wanted = names or tuple(self.checks)
        until(lambda: not self._waiting(wanted), seconds, f"{', '.join(wanted)} to be ready")

    def _waiting(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if self.checks[name]()]

    @abstractmethod
    def relay_source(self) -> tuple[str, int]:
        """Where connectors find PostgreSQL: host and port."""

    @abstractmethod
    def log(self, name: str) -> str:
        """What a process has written so far."""

    @abstractmethod
    def pid(self, name: str) -> int:
        """A process's id, 0 when it does not run."""

    @abstractmethod
    def kill(self, name: str) -> None:
        """kill -9, and wait until that process is gone; a new one is started by itself."""

    @abstractmethod
    def stop(self, *names: str) -> None:
        """Stop processes, all at once, until they are started again."""

    @abstractmethod
    def start(self, *names: str) -> None:
        """Start processes that were stopped, and wait until they are ready."""

    @abstractmethod
    def start_what_is_down(self) -> None:
        """Start every process that is stopped or has given up."""


class LiveStack(System):
    """A running embedded stack."""

    settings: Stack

    def __init__(self, stack: Stack) -> None:
        self.settings = stack
        self.supervisor = Supervisor(stack.layout)
        self.checks = ready.checks(stack)

    @property
    def state_dir(self) -> Path:
        """The folder with ``conf``, ``logs`` and ``data``."""
        return self.settings.layout.state

    def relay_source(self) -> tuple[str, int]:
        return HOST, self.ports["postgres"]

    def log(self, name: str) -> str:
        return (self.settings.layout.logs / f"{name}.log").read_text(errors="replace")

    def pid(self, name: str) -> int:
        return self.supervisor.states()[name].pid

    def kill(self, name: str) -> None:
        old = psutil.Process(self.pid(name))
        self.supervisor.signal(name, "KILL")
        until(lambda: not lifecycle.lives(old), 10, f"{name} to be gone")

    def signal(self, name: str, signal: str) -> None:
        """Send a signal by its name without SIG, such as STOP and CONT."""
        self.supervisor.signal(name, signal)

    def stop(self, *names: str) -> None:
        self.supervisor.stop_together(names)

    def start(self, *names: str) -> None:
        for name in names:
            self.supervisor.start(name)
        self.wait_ready(*names)

    def start_what_is_down(self) -> None:
        for name, state in self.supervisor.states().items():
            if state.state in ("STOPPED", "EXITED", "FATAL"):
                self.supervisor.start(name)
