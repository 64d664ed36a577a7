"""Inventory on a database of its own."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from services.eventkit.http import create_app
from services.inventory.__main__ import SERVICE
from services.inventory.import_api import PATH
from tests.integration.scratch import Scratch, scratch
from tests.live_stack import Ground


@pytest.fixture(scope="package")
def database(ground: Ground) -> Iterator[Scratch]:
    """One database for all tests of the package."""
    with scratch(ground, SERVICE, import_chunk=40, open_imports=2) as made:
        yield made


@pytest.fixture
def inventory(database: Scratch) -> Scratch:
    """Inventory with nothing in stock."""
    with database.db.begin() as conn:
        for table in ("reservation_lines", "stock", "imports", "import_chunks", "jobs"):
            conn.execute(sa.text(f"DELETE FROM {table}"))
    return database


@pytest.fixture
def client(inventory: Scratch) -> Iterator[TestClient]:
    """Inventory's API."""
    app = create_app(
        "inventory",
        [SERVICE.routes(inventory.runtime)],
        {},
        access=inventory.runtime.access,
        large_bodies={PATH: 20_000},
        max_body=10_000,
    )
    with TestClient(app) as made:
        yield made
