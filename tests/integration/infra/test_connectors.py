"""Each outbox has one connector that reads one slot, whatever was done to it before."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests

from infra.connect import connectors
from infra.connect.config import connector_config
from infra.connect.rest import Connect
from infra.local.waiting import until
from infra.names import EMITTERS, connector, slot
from tests.live_stack import LiveStack

# The service whose outbox is quiet: nobody waits for its events.
QUIET = "analytics"


@pytest.fixture(scope="module")
def connect(stack: LiveStack) -> Connect:
    return Connect(stack.url("connect"))


@pytest.fixture(scope="module")
def ensure(stack: LiveStack) -> Callable[[], str]:
    return lambda: connectors.ensure(
        stack.url("connect"), "127.0.0.1", stack.ports["postgres"], stack.auditor_url("order")
    )


@pytest.fixture(scope="module")
def problems(stack: LiveStack) -> Callable[[], dict[str, str]]:
    return lambda: connectors.problems(stack.url("connect"), stack.auditor_url("order"))


@pytest.fixture(autouse=True)
def put_right(ensure: Callable[[], str]) -> Iterator[None]:
    """Whatever a test breaks is whole again after it."""
    yield
    ensure()


def call(connect: Connect, method: str, path: str) -> Any:
    answer = requests.request(method, f"{connect.url}/connectors{path}", timeout=30)
    answer.raise_for_status()
    return answer.json() if answer.content else None


def test_c47_a_second_run_changes_nothing(connect: Connect, ensure: Callable[[], str]) -> None:
    before = {name: connect.config_of(connector(name)) for name in EMITTERS}
    assert ensure() == f"{len(EMITTERS)} running"
    assert {name: connect.config_of(connector(name)) for name in EMITTERS} == before


def test_c47_one_connector_and_one_slot_for_each_outbox(stack: LiveStack, connect: Connect) -> None:
    assert sorted(call(connect, "GET", "")) == sorted(connector(name) for name in EMITTERS)

    def slots() -> list[tuple[str, bool]]:
        with stack.admin() as database:
            query = "SELECT slot_name, active FROM pg_replication_slots ORDER BY slot_name"
            return database.execute(query).fetchall()

    # A task that is being restarted lets go of its slot for a moment.
    expected = sorted((slot(name), True) for name in EMITTERS)
    until(lambda: slots() == expected, 30, "one slot for each outbox, and each to be read")


def test_no_password_is_stored_or_shown(stack: LiveStack, connect: Connect) -> None:
    password = stack.settings.passwords["debezium"]
    for name in EMITTERS:
        config = connect.config_of(connector(name)) or {}
        assert config["database.password"].startswith("${env:")
        assert password not in config.values()


def test_c47_a_missing_connector_is_named_and_comes_back(
    connect: Connect, ensure: Callable[[], str], problems: Callable[[], dict[str, str]]
) -> None:
    call(connect, "DELETE", f"/{connector(QUIET)}")
    # Connect forgets the status of a deleted connector a moment after the connector.
    until(lambda: problems() == {QUIET: "connector missing"}, 10, "the connector to be missed")
    assert ensure() == f"{len(EMITTERS)} running, 1 changed"
    # Connect starts the task of a new connector a second time when it has spread its work anew.
    until(lambda: problems() == {}, 30, "the connector to read")


def test_a_paused_connector_is_named_and_goes_on(
    connect: Connect, ensure: Callable[[], str], problems: Callable[[], dict[str, str]]
) -> None:
    call(connect, "PUT", f"/{connector(QUIET)}/pause")
    until(lambda: problems() == {QUIET: "connector paused"}, 20, "the pause to be seen")
    assert ensure() == f"{len(EMITTERS)} running"


def test_a_failed_task_is_named_with_its_cause_and_set_right(
    stack: LiveStack,
    connect: Connect,
    ensure: Callable[[], str],
    problems: Callable[[], dict[str, str]],
) -> None:
    config = connector_config(QUIET, "127.0.0.1", stack.ports["postgres"])
    connect.put_config(connector(QUIET), {**config, "publication.name": "nobody_made_it"})
    # Between two failures the guardian restarts it.
    until(
        lambda: "Publication autocreation is disabled" in problems().get(QUIET, ""),
        60,
        "the task to fail, with its cause",
    )
    assert ensure() == f"{len(EMITTERS)} running, 1 changed"
