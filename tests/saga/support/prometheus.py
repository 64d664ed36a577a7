"""A real Prometheus that scrapes the stack and evaluates the real rules, only faster."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from infra.prometheus import configuration
from infra.prometheus.programs import find_or_fetch
from tests.live_stack import LiveStack
from tests.saga.support.wait import eventually, until

FACTOR = 10
"""By how much durations are shortened: what a rule waits for, and the windows it looks through."""
INTERVAL = "2s"
OF_OTHERS = frozenset({"OrdersStuck", "SagaSlow", "ApiSlow"})
"""What earlier tests left on purpose, and a busy machine, may raise."""
TELLING = ("group", "connector", "remote", "process")
"""The labels that say what an alert is about, the most telling first."""
SECONDS = 120.0

Alert = tuple[str, str]
"""The name of an alert, and what it is about."""

_FOR = re.compile(r"(?m)^(\s+for: )(\d+)m$")
_WINDOW = re.compile(r"\[(\d+)m\]")


def accelerated(rules: str) -> str:
    """The same rules with shorter durations; thresholds stay what they are."""
    rules = _FOR.sub(lambda m: f"{m[1]}{60 * int(m[2]) // FACTOR}s", rules)
    return _WINDOW.sub(lambda m: f"[{60 * int(m[1]) // FACTOR}s]", rules)


class Prometheus:
    """A running one."""

    def __init__(self, url: str) -> None:
        self._before: set[Alert] = set()
        self._client = httpx.Client(base_url=url, timeout=10, trust_env=False)

    def firing(self) -> set[Alert]:
        """Every alert that fires now."""
        alerts = self._ask("alerts")["alerts"]
        return {_named(alert["labels"]) for alert in alerts if alert["state"] == "firing"}

    def targets(self) -> dict[str, str]:
        """The health of every target by the name of its process."""
        found = self._ask("targets")["activeTargets"]
        return {target["labels"]["process"]: target["health"] for target in found}

    @contextmanager
    def raising(self, *expected: Alert) -> Iterator[None]:
        """In the block something goes wrong that raises these alerts, and nothing else.

        The block ends with what puts it right; then the alerts must clear. What fired before is not
        counted: other tests leave dead jobs and letters behind.
        """
        self._before = self.firing()
        wanted = set(expected) - self._before
        assert wanted, self._before
        yield
        until(lambda: not wanted & self.firing(), f"{wanted} to clear", SECONDS)

    def wait_for(self, *expected: Alert) -> None:
        """Waits until these alerts fire, and none beside them."""

        def exactly() -> None:
            new = self.firing() - self._before
            found = {alert for alert in new if alert[0] not in OF_OTHERS}
            assert found == set(expected) - self._before, sorted(found)

        eventually(exactly, SECONDS)

    def _ask(self, what: str) -> Any:
        answer = self._client.get(f"/api/v1/{what}")
        answer.raise_for_status()
        return answer.json()["data"]

    def evaluated_since(self, moment: datetime) -> bool:
        """Whether every group of rules was evaluated after a moment."""
        groups = self._ask("rules")["groups"]
        return all(_time(group["lastEvaluation"]) > moment for group in groups)


def _time(text: str) -> datetime:
    """A time of the API without its nanoseconds, which Python does not read."""
    return datetime.fromisoformat(re.sub(r"\.\d+", "", text))


def _named(labels: dict[str, str]) -> Alert:
    return labels["alertname"], next((labels[name] for name in TELLING if name in labels), "")


@contextmanager
def running(stack: LiveStack, folder: Path) -> Iterator[Prometheus]:
    """Prometheus on the stack's own port, with its data in ``folder``; every target is scraped."""
    programs = find_or_fetch(stack.settings.layout.cache)
    config = configuration.write(folder, stack.ports.address)
    config.write_text(re.sub(r"(?m)^(  \w+: )\d+s$", rf"\g<1>{INTERVAL}", config.read_text()))
    for rules in (folder / "rules").glob("*.yml"):
        rules.write_text(accelerated(rules.read_text()))
    address = stack.ports.address("prometheus")
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [
                programs.prometheus,
                f"--config.file={config}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address={address}",
            ],
            stdout=log,
            stderr=log,
        )
    try:
        prometheus = Prometheus(f"http://{address}")
        until(lambda: _all_up(prometheus), f"all targets to be up; see {folder / 'log'}", SECONDS)
        seen = datetime.now(UTC)
        until(lambda: prometheus.evaluated_since(seen), "the rules to be evaluated", SECONDS)
        yield prometheus
    finally:
        process.terminate()
        process.wait(30)


def _all_up(prometheus: Prometheus) -> bool:
    try:
        health = prometheus.targets()
    except httpx.HTTPError:
        return False
    return set(health) == set(configuration.PROCESSES) and set(health.values()) == {"up"}
