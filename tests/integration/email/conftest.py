"""A mail sink as a process of its own, and email on a database of its own."""

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from services.email.__main__ import SERVICE
from services.eventkit.http import create_app
from tests.integration.fakes.processes import Running
from tests.integration.scratch import Scratch, scratch
from tests.live_stack import Ground


@pytest.fixture(scope="package")
def sink(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A mail sink with an empty mailbox."""
    running = Running("infra.fakes.mail_sink", tmp_path_factory.mktemp("sink"))
    running.start()
    yield running
    running.stop()


@pytest.fixture(scope="package")
def email(ground: Ground) -> Iterator[Scratch]:
    """One database for all tests of the package."""
    with scratch(ground, SERVICE) as made:
        yield made


@pytest.fixture
def client(email: Scratch) -> Iterator[TestClient]:
    """Email's API."""
    app = create_app("email", [SERVICE.routes(email.runtime)], {}, access=email.runtime.access)
    with TestClient(app) as made:
        yield made
