"""A payment provider as a process of its own, and payment's calls to it."""

from collections.abc import Iterator

import httpx
import pytest

from services.payment.__main__ import SERVICE
from services.payment.jobs import Calls
from services.payment.provider import Provider
from tests.integration.fakes.processes import Running
from tests.integration.scratch import Scratch, scratch
from tests.live_stack import Ground

TIMEOUT = 0.5


@pytest.fixture(scope="package")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A provider with an empty ledger."""
    running = Running("infra.fakes.payment_provider", tmp_path_factory.mktemp("provider"))
    running.start()
    yield running
    running.stop()


@pytest.fixture(scope="package")
def bank(provider: Running) -> Iterator[httpx.Client]:
    """What a person sees who looks into the provider's books."""
    with httpx.Client(base_url=provider.url, timeout=10) as client:
        yield client


@pytest.fixture(scope="package")
def calls(provider: Running) -> Calls:
    """Payment's outside calls, with a short timeout."""
    return Calls(Provider(provider.url, TIMEOUT))


@pytest.fixture(scope="package")
def payment(ground: Ground) -> Iterator[Scratch]:
    """Payment on a database of its own."""
    with scratch(ground, SERVICE) as made:
        yield made
