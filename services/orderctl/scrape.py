"""The metrics of the running processes, read as Prometheus would, at two moments where needed."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

from services.orderctl.client import Http
from services.orderctl.errors import CliError
from services.orderctl.settings import Settings

Labels = Mapping[str, str]


@dataclass(frozen=True)
class Metrics:
    """What one process told: samples by name."""

    samples: Mapping[str, tuple[tuple[Labels, float], ...]]

    def sum(self, name: str, **labels: str) -> float:
        """The sum of all samples with these labels; 0 where there is none."""
        return sum(value for found, value in self.of(name) if labels.items() <= found.items())

    def of(self, name: str) -> tuple[tuple[Labels, float], ...]:
        """Every sample of a name."""
        return self.samples.get(name, ())


def parse(text: str) -> Metrics:
    """The samples of an answer of ``/metrics``."""
    samples: dict[str, list[tuple[Labels, float]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            samples.setdefault(sample.name, []).append((sample.labels, sample.value))
    return Metrics({name: tuple(found) for name, found in samples.items()})


def processes(settings: Settings) -> dict[str, Http]:
    """Every process that serves metrics and health, by its name in ``make status``."""
    urls = {
        "order": settings.order_url,
        "payment": settings.payment_url,
        "inventory": settings.inventory_url,
        "email": settings.email_url,
        "analytics": settings.analytics_url,
        "projector-agent": settings.agent_url,
        "projector-api": settings.projector_url,
        "connect-guardian": settings.guardian_url,
    }
    return {name: Http(name, url) for name, url in urls.items() if url}


def scrape(of: Mapping[str, Http]) -> dict[str, Metrics]:
    """The metrics of all of these that answer, asked at the same time."""

    def ask(http: Http) -> Metrics | None:
        try:
            answer = http.send("GET", "/metrics")
        except CliError:
            return None
        return parse(answer.text) if answer.is_success else None

    with ThreadPoolExecutor(max(1, len(of))) as pool:
        found = dict(zip(of, pool.map(ask, of.values()), strict=True))
    return {name: metrics for name, metrics in found.items() if metrics is not None}
