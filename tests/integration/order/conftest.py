"""The order service on a database of its own."""

from collections.abc import Iterator

import pytest

from services.order.__main__ import SERVICE
from tests.integration.scratch import Scratch, scratch
from tests.live_stack import Ground


@pytest.fixture(scope="package")
def orders(ground: Ground) -> Iterator[Scratch]:
    """One database for all tests of the package."""
    with scratch(ground, SERVICE, open_orders=10) as made:
        yield made
