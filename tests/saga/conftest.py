"""The running stack as the saga tests use it."""

from collections.abc import Iterator

import pytest

from services.orderctl.client import Shop
from services.orderctl.settings import Settings
from tests.live_stack import LiveStack
from tests.saga.support.faults import Faults
from tests.saga.support.orderctl import orderctl, orderctl_json
from tests.saga.support.saga import Saga
from tests.saga.support.slots import Slots
from tests.saga.support.topics import Topics


@pytest.fixture(scope="session")
def settings(stack: LiveStack) -> Settings:
    """Where the parts of the stack are, as orderctl would read it."""
    given = {name.removeprefix("SAGA_").lower(): value for name, value in stack.env.items()}
    return Settings.model_validate(given)


@pytest.fixture(scope="session")
def shop(settings: Settings) -> Shop:
    """The HTTP APIs of the stack."""
    return Shop(settings, connections=60)


@pytest.fixture(scope="session")
def topics(settings: Settings) -> Topics:
    """The topics of the stack."""
    return Topics(settings)


@pytest.fixture
def saga(stack: LiveStack, settings: Settings, shop: Shop, topics: Topics) -> Saga:
    """Goods, customers and orders of the test's own."""
    return Saga(stack, settings, shop, topics)


@pytest.fixture
def faults(stack: LiveStack) -> Iterator[Faults]:
    """A hand on the stack's processes; what a test broke is repaired when it ends."""
    hand = Faults(stack)
    yield hand
    hand.repair()


@pytest.fixture
def slots(stack: LiveStack, faults: Faults) -> Iterator[Slots]:
    """A hand on replication slots; all are there and read again when the test ends."""
    yield Slots(stack, faults)
    for relay in orderctl_json("cdc"):
        if "recover" in relay["remedy"]:
            assert orderctl("cdc", "recover", relay["service"]).returncode == 0
