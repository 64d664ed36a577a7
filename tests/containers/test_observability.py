"""Prometheus in containers scrapes every process and has the rules of the embedded stack."""

import httpx

from infra.prometheus.configuration import PROCESSES, RULES
from tests.containers.stack import ContainerStack
from tests.saga.support.wait import until


def test_prometheus_reaches_every_process_and_knows_every_rule(stack: ContainerStack) -> None:
    stack.compose("--profile=observability", "up", "--detach", "--wait", "prometheus")
    url = f"{stack.url('prometheus')}/api/v1"

    def up() -> set[str]:
        targets = httpx.get(f"{url}/targets", timeout=10).json()["data"]["activeTargets"]
        return {one["labels"]["process"] for one in targets if one["health"] == "up"}

    until(lambda: up() == set(PROCESSES), "every process to be scraped", 90)
    groups = httpx.get(f"{url}/rules", timeout=10).json()["data"]["groups"]
    assert {group["file"].rpartition("/")[2] for group in groups} == {
        file.name for file in RULES.glob("*.yml")
    }
