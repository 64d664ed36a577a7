"""Analytics on a database of its own."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from services.analytics.__main__ import SERVICE
from services.eventkit.http import create_app
from tests.integration.scratch import Scratch, scratch
from tests.live_stack import Ground


@pytest.fixture(scope="package")
def database(ground: Ground) -> Iterator[Scratch]:
    """One database for all tests of the package."""
    with scratch(ground, SERVICE, report_page=3, open_reports=2) as made:
        yield made


@pytest.fixture
def analytics(database: Scratch) -> Scratch:
    """Analytics that has not heard of any order."""
    with database.db.begin() as conn:
        for table in ("order_figures", "reports", "jobs", "idempotency_keys"):
            conn.execute(sa.text(f"DELETE FROM {table}"))
    return database


@pytest.fixture
def client(analytics: Scratch) -> Iterator[TestClient]:
    """Analytics' API."""
    app = create_app(
        "analytics", [SERVICE.routes(analytics.runtime)], {}, access=analytics.runtime.access
    )
    with TestClient(app) as made:
        yield made
