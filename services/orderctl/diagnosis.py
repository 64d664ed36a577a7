"""What `orderctl doctor` looks at: each check says what is wrong and which command helps.

A check that cannot look has found something, too: a doctor that is not let in says so.
"""

import math
import shutil
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from confluent_kafka import KafkaException

from services.eventkit.codec import Codec, SchemaMismatch
from services.eventkit.registry import RegistryUnavailable
from services.eventkit.schemas import Schemas
from services.order.settings import Budgets
from services.orderctl import relays
from services.orderctl.client import Http, Shop
from services.orderctl.errors import CliError
from services.orderctl.groups import read_groups
from services.orderctl.operations import LETTER, Operations
from services.orderctl.projector_letters import open_letters
from services.orderctl.scrape import Metrics, processes, scrape
from services.orderctl.settings import Settings, env_file
from services.orderctl.stuck import waiting
from services.orderctl.verify.databases import EMITTERS, reading

OVERDUE_SECONDS = 60
UNREAD_SECONDS = 120
BEHIND_SECONDS = 120
FREE_BYTES = 5e9
"""Slots may keep 4 GB of write-ahead log."""

_OVERDUE = sa.text("""
SELECT kind, count(*) AS jobs, extract(epoch FROM now() - min(run_at))::float AS seconds
FROM jobs WHERE status = 'pending' GROUP BY kind""")


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is not well, and what helps."""

    text: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: what it looked at, and its problems; none where all is well."""

    check: str
    looked_at: str
    problems: tuple[Problem, ...]

    @property
    def well(self) -> bool:
        return not self.problems

    def as_json(self) -> dict[str, Any]:
        """All fields."""
        return {
            "check": self.check,
            "well": self.well,
            "looked_at": self.looked_at,
            "problems": [
                {"text": problem.text, "remedy": problem.remedy} for problem in self.problems
            ],
        }


Check = Callable[[], tuple[str, Iterable[Problem]]]


class Doctor:
    """Looks at everything that a running system consists of."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._shop = Shop(settings)
        self._processes = processes(settings)
        self._metrics: Mapping[str, Metrics] = {}

    def look(self) -> list[Finding]:
        """Every check, side by side."""
        self._metrics = scrape(self._processes)
        checks: Mapping[str, Check] = {
            "processes": self._look_at_processes,
            "broker": self._look_at_readers,
            "relays": self._look_at_relays,
            "registry": self._look_at_schemas,
            "letters": self._look_at_letters,
            "jobs": self._look_at_jobs,
            "breakers": self._look_at_breakers,
            "orders": self._look_at_orders,
            "read model": self._look_at_read_model,
            "disk": self._look_at_disk,
        }
        with ThreadPoolExecutor(len(checks)) as pool:
            return list(pool.map(lambda name: _finding(name, checks[name]), checks))

    def _look_at_processes(self) -> tuple[str, list[Problem]]:
        others = {"payment-provider": self._shop.provider, "mail-sink": self._shop.mail}
        asked = self._processes | others
        problems = [
            Problem(f"{name}: {why}", f"make status; make logs NAME={name}")
            for name, http in asked.items()
            if (why := _not_ready(http))
        ]
        return f"{len(asked)} processes", problems

    def _look_at_readers(self) -> tuple[str, list[Problem]]:
        groups = read_groups(self._settings.kafka_bootstrap)
        problems = [
            Problem(f"nobody reads for {group.name}", "make status; make up")
            for group in groups
            if not group.members
        ]
        guardian = self._metrics.get("connect-guardian")
        problems += unread(guardian) if guardian else []
        behind = sum(group.events for group in groups)
        return f"{len(groups)} consumer groups, {behind} events to read", problems

    def _look_at_relays(self) -> tuple[str, list[Problem]]:
        found = relays.read(self._settings)
        return f"{len(found)} connectors and slots", [
            Problem(
                f"{one.service}: connector {one.connector}, slot {one.relay.state}"
                + (
                    f", {one.relay.unpublished} events unpublished" if one.relay.unpublished else ""
                ),
                one.remedy or "orderctl cdc",
            )
            for one in found
            if not one.well
        ]

    def _look_at_schemas(self) -> tuple[str, list[Problem]]:
        schemas = Schemas.load()
        try:
            Codec(schemas, self._settings.registry_url).start()
        except RegistryUnavailable as error:
            return "the registry", [Problem(f"the registry is away: {error}", "make up")]
        except SchemaMismatch as error:
            return "the registry", [
                Problem(str(error), "docs/operations.md: the registry was lost")
            ]
        return "every schema under its own id", []

    def _look_at_letters(self) -> tuple[str, list[Problem]]:
        aside = list(Operations(self._shop).aside())
        letters = [one for one in aside if one.kind == LETTER]
        jobs = [one for one in aside if one.kind != LETTER]
        problems = []
        for service in EMITTERS:
            if own := [one for one in letters if one.service == service]:
                text = f"{service}: {len(own)} records are put aside"
                problems.append(Problem(text, "orderctl dlq list, then redrive or discard"))
            if dead := [one for one in jobs if one.service == service]:
                text = f"{service}: {len(dead)} jobs are dead"
                problems.append(Problem(text, "orderctl jobs list, then orderctl jobs redrive"))
        if own_letters := open_letters(self._settings):
            text = f"projector: {len(own_letters)} records are put aside"
            problems.append(Problem(text, "orderctl dlq list, then discard; a replay reads them"))
        return "dead letters and dead jobs of all services", problems

    def _look_at_jobs(self) -> tuple[str, list[Problem]]:
        problems, waiting_jobs = [], 0
        for service in EMITTERS:
            with reading(self._settings, service) as conn:
                for kind, count, seconds in conn.execute(_OVERDUE):
                    waiting_jobs += count
                    if seconds > OVERDUE_SECONDS:
                        text = f"{service}: a {kind} job is due for {seconds:.0f} s"
                        problems.append(Problem(text, "orderctl capacity; orderctl jobs list"))
        return f"{waiting_jobs} jobs that wait", problems

    def _look_at_breakers(self) -> tuple[str, list[Problem]]:
        breakers = [
            (process, labels["remote"], value)
            for process, metrics in self._metrics.items()
            for labels, value in metrics.of("saga_breaker_open")
        ]
        help_ = "it closes by itself when {} answers; orderctl jobs list has its last error"
        return f"{len(breakers)} circuit breakers", [
            Problem(f"{process} leaves {remote} alone: it keeps failing", help_.format(remote))
            for process, remote, value in breakers
            if value
        ]

    def _look_at_orders(self) -> tuple[str, list[Problem]]:
        budgets = Budgets(_env_file=env_file())  # type: ignore[call-arg]
        late = waiting.over_budget(self._settings, budgets.of)
        problems = []
        for step in sorted({order.step for order in late}):
            count = sum(order.step == step for order in late)
            text = f"{count} orders wait for {step} longer than its budget"
            problems.append(Problem(text, "orderctl stuck, then orderctl repair"))
        return "orders over their budget", problems

    def _look_at_read_model(self) -> tuple[str, list[Problem]]:
        lag = self._shop.projector.call("GET", "/lag")
        if lag["seconds"] is None:
            text = f"it lacks {lag['events']} events, and nobody could tell in time how old"
            return f"{lag['events']} events", [Problem(text, "orderctl doctor again; orderctl lag")]
        told = f"{lag['events']} events, {lag['seconds']:.1f} s behind"
        if lag["seconds"] <= BEHIND_SECONDS:
            return told, []
        return told, [Problem(f"it is {told}", "make logs NAME=projector-agent; orderctl lag")]

    def _look_at_disk(self) -> tuple[str, list[Problem]]:
        folder = env_file().parent
        free = shutil.disk_usage(folder if folder.exists() else Path.cwd()).free
        told = f"{free / 1e9:.1f} GB free"
        if free >= FREE_BYTES:
            return told, []
        return told, [Problem(f"only {told}", "make room: slots keep up to 4 GB of log each")]


def unread(guardian: Metrics) -> list[Problem]:
    """Groups that leave an event unread for too long, or for nobody knows how long."""
    found = []
    for labels, seconds in guardian.of("saga_consumer_unread_seconds"):
        if seconds <= UNREAD_SECONDS:
            continue
        long = "nobody knows how long" if math.isnan(seconds) else f"{seconds:.0f} s"
        text = f"{labels['group']} has left an event unread for {long}"
        found.append(Problem(text, "orderctl capacity; orderctl lag"))
    return found


def _finding(name: str, check: Check) -> Finding:
    try:
        looked_at, problems = check()
    except CliError as error:
        problem = Problem(error.message, error.next_step or "make status")
        return Finding(name, "could not be looked at", (problem,))
    except (sa.exc.SQLAlchemyError, KafkaException, OSError) as error:
        problem = Problem(str(error).splitlines()[0][:200], "make status")
        return Finding(name, "could not be looked at", (problem,))
    return Finding(name, looked_at, tuple(problems))


def _not_ready(http: Http) -> str:
    """Why a process cannot do its work, or nothing."""
    try:
        answer = http.send("GET", "/health/ready")
    except CliError:
        return "does not answer"
    if answer.is_success:
        return ""
    reasons = answer.json().get("reasons") or answer.status_code
    if isinstance(reasons, Mapping):
        return "; ".join(f"{part}: {why}" for part, why in reasons.items())
    return "; ".join(map(str, reasons)) if isinstance(reasons, list) else str(reasons)
