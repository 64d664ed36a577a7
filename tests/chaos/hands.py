"""Does to processes and connections what an action says."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from infra.local.waiting import until
from infra.toxiproxy.client import Toxiproxy
from tests.chaos.schedule import Action
from tests.live_stack import LiveStack

START_SECONDS = 60
DELAY_MS = 300


class Hands:
    """A hand on every process of the stack, and on every connection between them."""

    def __init__(self, stack: LiveStack) -> None:
        self._stack = stack
        self._proxy = Toxiproxy(stack.url("toxiproxy"))

    def perform(self, action: Action) -> float:
        """Disturb, and let go again; the moment from which the system can recover.

        That is when the disturbance ends, and for a kill and a restart when it begins.
        """
        match action.kind:
            case "kill":
                self._wait_for_process(action.target)
                self._stack.kill(action.target)
                return time.time()
            case "restart":
                began = time.time()
                self._stack.supervisor.restart(action.target)
                return began
            case "stop":
                with self._stopped(action.target):
                    time.sleep(action.lasts)  # how long it is down, not a wait for anything
            case "pause":
                with self._paused(action.target):
                    time.sleep(action.lasts)
            case _:
                with self._disturbed(action):
                    time.sleep(action.lasts)
        return time.time()

    def _wait_for_process(self, name: str) -> None:
        until(lambda: self._stack.pid(name) != 0, START_SECONDS, f"{name} to have a process")

    @contextmanager
    def _stopped(self, name: str) -> Iterator[None]:
        self._stack.stop(name)
        try:
            yield
        finally:
            self._stack.supervisor.start(name)

    @contextmanager
    def _paused(self, name: str) -> Iterator[None]:
        """The process and its children, which PostgreSQL has many of, stand still."""
        self._wait_for_process(name)
        first = psutil.Process(self._stack.pid(name))
        family = [first, *first.children(recursive=True)]
        for process in family:
            _tell(process, "suspend")
        try:
            yield
        finally:
            for process in reversed(family):
                _tell(process, "resume")

    @contextmanager
    def _disturbed(self, action: Action) -> Iterator[None]:
        match action.kind:
            case "cut":
                self._proxy.cut(action.target)
            case "delay":
                self._proxy.delay(action.target, DELAY_MS)
            case "silence":
                self._proxy.silence(action.target)
        try:
            yield
        finally:
            self._proxy.restore()


def _tell(process: psutil.Process, what: str) -> None:
    try:
        getattr(process, what)()
    except psutil.NoSuchProcess:
        return  # one of PostgreSQL's, which come and go
