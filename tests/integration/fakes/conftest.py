"""The stand-ins as processes, one pair for each test module."""

from collections.abc import Iterator

import httpx
import pytest

from tests.integration.fakes.processes import Running

PROVIDER = "infra.fakes.payment_provider"
SINK = "infra.fakes.mail_sink"


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A payment provider with an empty ledger."""
    running = Running(PROVIDER, tmp_path_factory.mktemp("provider"))
    running.start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def bank(provider: Running) -> Iterator[httpx.Client]:
    """A client of the payment provider."""
    with httpx.Client(base_url=provider.url, timeout=10) as client:
        yield client


@pytest.fixture(scope="module")
def sink(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A mail sink with an empty mailbox."""
    running = Running(SINK, tmp_path_factory.mktemp("sink"))
    running.start()
    yield running
    running.stop()
