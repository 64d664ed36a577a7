"""Restarts connector tasks that have failed: ``python -m infra.connect.guardian``.

Kafka Connect leaves a failed task failed until someone asks for it. This asks, again and again with
growing pauses. A connector that stays without a task, or missing, is made anew. All else is let
alone: what a person has paused or stopped stays so, and a slot that is lost is not made anew, which
would hide the rows it had not read. Whatever is away is waited for, be it Connect, the broker or
PostgreSQL.
"""

import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import requests
from prometheus_client import Counter, Gauge

from infra.connect.config import all_configs
from infra.connect.health import serve
from infra.connect.readers import Readers
from infra.connect.rest import Connect, NotYet
from infra.connect.taskless import Remaker, absent
from infra.local.errors import StackError
from services.eventkit import logs
from services.eventkit.settings import ProcessSettings, load

LOG = logs.logger("guardian")
LOOK_SECONDS = 3.0
FIRST_PAUSE, LONGEST_PAUSE = 2.0, 60.0
FORGIVEN_AFTER = 60.0
TASKLESS_AFTER = 60.0

RESTARTS = Counter(
    "saga_connector_restarts_total", "Failed connectors and tasks restarted", ["connector"]
)
UP = Gauge("saga_connector_running", "1 while a connector and its task run", ["connector"])


class GuardianSettings(ProcessSettings):
    """Where Connect's REST API is, and the broker; without one the readers are not measured.

    ``database_host`` and ``database_port`` are those by which Connect reaches PostgreSQL.
    """

    connect_url: str
    database_host: str
    database_port: int
    kafka_bootstrap: str = ""


@dataclass
class Ward:
    """One connector: what was last seen of it, and when it may be restarted next."""

    name: str
    pause: float = FIRST_PAUSE
    not_before: float = 0.0
    well_since: float | None = None
    said: str = ""

    @property
    def well(self) -> bool:
        """True where it ran when it was last seen."""
        return self.well_since is not None

    def saw_running(self, now: float) -> None:
        """A connector that runs for a while starts over with a short pause."""
        self.well_since = self.well_since or now
        if now - self.well_since >= FORGIVEN_AFTER:
            self.pause = FIRST_PAUSE

    def may_restart(self, now: float) -> bool:
        """True where the pause since the last restart is over; then the next one is longer."""
        self.well_since = None
        if now < self.not_before:
            return False
        self.not_before = now + self.pause
        self.pause = min(LONGEST_PAUSE, 2 * self.pause)
        return True


@dataclass
class Guardian:
    """Looks after the connectors of one Connect worker. ``reached`` says whether it answered.

    ``configs`` has by name how each connector is to be.
    """

    connect: Connect
    configs: Mapping[str, Mapping[str, str]]
    clock: Callable[[], float] = time.monotonic
    reached: bool = False

    def __post_init__(self) -> None:
        self.wards = [Ward(name) for name in self.configs]
        self._remaker = Remaker(self.connect, self.configs, self.clock, TASKLESS_AFTER)

    def run(self, stop: threading.Event) -> None:
        """Looks until ``stop`` is set."""
        while not stop.wait(LOOK_SECONDS):
            self.look()

    def problem(self) -> str:
        """Why events do not reach their topics, or nothing."""
        if not self.reached:
            return "Connect does not answer"
        return "; ".join(f"{ward.name}: {ward.said}" for ward in self.wards if not ward.well)

    def look(self) -> None:
        """One look at every connector; restarts what has failed and is due."""
        try:
            for ward in self.wards:
                self._look_at(ward)
        except requests.RequestException as error:
            for ward in self.wards:
                UP.labels(ward.name).set(0)
            if self.reached:
                LOG.warning("Connect does not answer", error=str(error)[:200])
            self.reached = False
        else:
            if not self.reached:
                LOG.info("Connect answers")
            self.reached = True

    def _look_at(self, ward: Ward) -> None:
        states = self.connect.states(ward.name)
        failed = [cause for state, cause in states if state == "FAILED"]
        others = {state for state, _ in states if state not in ("RUNNING", "FAILED")}
        well = not failed and not others and len(states) > 1
        UP.labels(ward.name).set(well)
        missing = absent(states)
        self._make_anew(ward, missing)
        if failed:
            self._restart(ward, failed[0])
        elif well:
            ward.saw_running(self.clock())
            _say(ward, "running")
        else:
            ward.well_since = None
            _say(ward, ", ".join(sorted(others)).lower() or missing)

    def _make_anew(self, ward: Ward, missing: str) -> None:
        try:
            if self._remaker.look(ward.name, missing):
                LOG.warning(f"{missing}, made anew", connector=ward.name)
        except (NotYet, StackError) as error:  # the others are looked after all the same
            LOG.warning(f"{missing}, not made anew", connector=ward.name, error=str(error)[:500])

    def _restart(self, ward: Ward, cause: str) -> None:
        if not ward.may_restart(self.clock()):
            return
        self.connect.restart_failed(ward.name)
        RESTARTS.labels(ward.name).inc()
        ward.said = "failed"
        LOG.warning(
            "connector had failed, restarted",
            connector=ward.name,
            cause=cause[:500],
            next_pause=ward.pause,
        )


def _say(ward: Ward, state: str) -> None:
    if ward.said != state:
        LOG.info("connector", connector=ward.name, state=state)
    ward.said = state


def main() -> None:
    """Runs until SIGTERM or SIGINT."""
    settings = load(GuardianSettings)
    logs.setup("connect-guardian", settings.log_format, settings.log_level)
    configs = all_configs(settings.database_host, settings.database_port)
    guardian = Guardian(Connect(settings.connect_url.rstrip("/")), configs)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with serve(
        settings.http_host,
        settings.http_port,
        guardian.problem,
    ):
        if settings.kafka_bootstrap:
            readers = Readers(settings.kafka_bootstrap)
            threading.Thread(target=readers.run, args=[stop], daemon=True).start()
        guardian.run(stop)


if __name__ == "__main__":
    main()
