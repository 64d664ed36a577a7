"""Faults on purpose, all undone at the end of a test."""

from collections.abc import Iterator
from contextlib import contextmanager

import requests

from infra.connect import connectors
from infra.names import connector, database
from tests.live_stack import System
from tests.saga.support.wait import until

TIMEOUT = 10.0


class Faults:
    """Kills and stops processes of the stack, and holds back what a service has written."""

    def __init__(self, stack: System) -> None:
        self.stack = stack
        self._url = stack.url("connect")

    @contextmanager
    def stopped(self, *names: str) -> Iterator[None]:
        """Processes that are down meanwhile."""
        self.stack.stop(*names)
        try:
            yield
        finally:
            self.stack.start(*names)

    @contextmanager
    def database_closed(self, service: str) -> Iterator[None]:
        """Nobody gets into a service's database meanwhile, and who was in is out."""
        name = database(service)
        with self.stack.admin() as admin:
            admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
            query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
            admin.execute(query, [name])
        try:
            yield
        finally:
            with self.stack.admin() as admin:
                admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")

    @contextmanager
    def table_missing(self, service: str, table: str) -> Iterator[None]:
        """A table of a service is not there meanwhile, as where a migration was forgotten."""
        with self.stack.admin(database(service)) as admin:
            admin.execute(f"ALTER TABLE {table} RENAME TO {table}_elsewhere")
        try:
            yield
        finally:
            with self.stack.admin(database(service)) as admin:
                admin.execute(f"ALTER TABLE {table}_elsewhere RENAME TO {table}")

    @contextmanager
    def held_back(self, service: str) -> Iterator[None]:
        """Events that a service writes stay in its outbox meanwhile: its connector is paused."""
        name = connector(service)
        self.connect("PUT", f"/connectors/{name}/pause")
        until(lambda: self._states(name) == {"PAUSED"}, f"{name} to be paused")
        try:
            yield
        finally:
            self.connect("PUT", f"/connectors/{name}/resume")
            self.stack.wait_ready("connect")

    def wait_started(self, name: str) -> None:
        """Waits until Supervisor has started a killed process again; it need not be ready."""
        until(lambda: self.stack.pid(name), f"{name} to be started again")

    def delete_connector(self, service: str) -> None:
        """A service's outbox is read no more; its slot and the place in it are kept."""
        name = connector(service)
        self.connect("DELETE", f"/connectors/{name}")
        until(lambda: name not in self.connectors(), f"{name} to be gone")

    def connectors(self) -> set[str]:
        """The names of all connectors there are."""
        return set(self.connect("GET", "/connectors").json())

    def set_up_connectors(self) -> str:
        """Sets up all connectors as ``make up`` does; what was done."""
        slots = self.stack.settings.slots_url
        return connectors.ensure(self._url, *self.stack.relay_source(), slots)

    def repair(self) -> None:
        """Starts whatever is down and waits until all of the stack is ready."""
        self.stack.start_what_is_down()
        self.set_up_connectors()
        self.stack.wait_ready()

    def _states(self, name: str) -> set[str]:
        status = self.connect("GET", f"/connectors/{name}/status").json()
        return {part["state"] for part in (status["connector"], *status["tasks"])}

    def connect(self, method: str, path: str) -> requests.Response:
        """A call of Connect's REST API, which must succeed."""
        answer = requests.request(method, f"{self._url}{path}", timeout=TIMEOUT)
        answer.raise_for_status()
        return answer
