"""Talks to the Supervisor that runs the stack's processes."""

import os
import subprocess
import sys
import threading
import time
import xmlrpc.client
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from supervisor.xmlrpc import SupervisorTransport

from infra.local.errors import StackError
from infra.local.layout import ROOT, Layout
from infra.local.waiting import until

SUPERVISORD = "supervisor.supervisord"
ALREADY_STARTED, NOT_RUNNING = 60, 70
# What a process of the stack may know of whoever started it.
INHERITED = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR",
    "XDG_CACHE_HOME", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy",
    "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "GOPROXY", "GONOSUMDB",
    "GOSUMDB", "GOFLAGS",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class State:
    """What Supervisor knows of one process; ``pid`` is 0 when it has none.

    ``state`` is Supervisor's word: RUNNING only means that it lived for a moment, not that it is
    ready.
    """

    name: str
    state: str
    pid: int
    since: int


class Supervisor:
    """The control socket of one stack's Supervisor."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def launch(self) -> None:
        """Start Supervisor, with no process of the stack running yet."""
        command = [sys.executable, "-m", SUPERVISORD, "-c"]
        environment = {name: os.environ[name] for name in INHERITED if name in os.environ}
        errors = self._layout.logs / "supervisord.err"
        with errors.open("w") as output:
            process = subprocess.Popen(
                [*command, str(self._layout.supervisor_conf)],
                cwd=ROOT,
                env={**environment, "PYTHONUNBUFFERED": "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=output,
                start_new_session=True,
            )

        def alive() -> bool:
            if process.poll() is not None:
                raise StackError(
                    f"Supervisor ended at once: {errors.read_text().strip()[-500:]}",
                    f"Read {self._layout.logs / 'supervisord.log'}.",
                )
            return self.running()

        until(alive, seconds=20, what="Supervisor to answer")

    def running(self) -> bool:
        """Whether this stack has a Supervisor that answers."""
        try:
            return bool(self._call("getState")["statename"] == "RUNNING")
        except (OSError, xmlrpc.client.Error):
            return False

    def pid(self) -> int:
        """Supervisor's own process id."""
        return int(self._call("getPID"))

    def states(self) -> dict[str, State]:
        """Every process by name."""
        return {
            info["name"]: State(
                name=info["name"],
                state=info["statename"],
                pid=info["pid"],
                since=info["start"],
            )
            for info in self._call("getAllProcessInfo")
        }

    def adopt(self) -> list[str]:
        """Take in the programs that are new in the configuration file.

        Returns those whose settings differ from what they were started with; they run on as they
        are.
        """
        added, changed, removed = self._call("reloadConfig")[0]
        for name in added:
            self._call("addProcessGroup", name)
        return [*changed, *removed]

    def renew(self, names: Iterable[str]) -> None:
        """Stop processes and take them in as the configuration file has them now; not started."""
        asked = list(names)
        self.stop_together(asked)
        self._call("reloadConfig")
        for name in asked:
            self._call("removeProcessGroup", name)
            self._call("addProcessGroup", name)

    def start(self, name: str) -> None:
        """Start a process, or leave it alone when it runs. Returns at once."""
        try:
            self._call("startProcess", name, False)
        except xmlrpc.client.Fault as fault:
            if fault.faultCode != ALREADY_STARTED:
                raise

    def stop(self, name: str) -> None:
        """Stop a process as Supervisor is told to, and wait until it is gone."""
        with suppress_fault(NOT_RUNNING):
            self._call("stopProcess", name, True)

    def restart(self, name: str) -> None:
        """Stop a process and start it again; ready is something to be asked afterwards."""
        self.stop(name)
        self.start(name)

    def signal(self, name: str, signal: str) -> None:
        """Send a signal by its name without SIG, for example KILL."""
        self._call("signalProcess", name, signal)

    def stop_together(self, names: Iterable[str]) -> None:
        """Stop several processes at the same time and wait for all of them."""
        asked = list(names)
        for name in asked:
            with suppress_fault(NOT_RUNNING):
                self._call("stopProcess", name, False)

        def all_gone() -> bool:
            states = self.states()
            return all(states[name].pid == 0 for name in asked)

        until(all_gone, seconds=40, what=f"{', '.join(asked)} to stop")

    def shutdown(self) -> None:
        """Stop what still runs, in order, and Supervisor itself."""
        with suppress(OSError, xmlrpc.client.Error):
            self._call("shutdown")

    def _call(self, method: str, *arguments: Any) -> Any:
        # A connection of its own for each call: the client is used from several threads.
        transport = SupervisorTransport(None, None, f"unix://{self._layout.socket}")
        proxy = xmlrpc.client.ServerProxy("http://127.0.0.1", transport=transport)
        with proxy:
            return getattr(proxy.supervisor, method)(*arguments)


class RecentStates:
    """The states as they were at most a second ago, for many who ask often: each look costs."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._lock = threading.Lock()
        self._looked = 0.0
        self._states: dict[str, State] = {}

    def states(self) -> dict[str, State]:
        """Every process by name."""
        with self._lock:
            if time.monotonic() - self._looked > 1:
                self._states = self._supervisor.states()
                self._looked = time.monotonic()
            return self._states


class suppress_fault:  # noqa: N801  used like contextlib.suppress
    """Swallows Supervisor's answer that there was nothing to do."""

    def __init__(self, code: int) -> None:
        self._code = code

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, trace: object) -> bool:
        return isinstance(error, xmlrpc.client.Fault) and error.faultCode == self._code
