"""Who reads which topic is the same in the description of the events and in the services."""

from importlib import import_module

import pytest

from infra.names import EMITTERS, SERVICES
from services.eventkit.subscriptions import topics_read
from services.projector.settings import TOPICS


@pytest.mark.parametrize("service", EMITTERS)
def test_a_service_subscribes_to_what_is_described(service: str) -> None:
    wired = import_module(f"services.{service}.__main__").SERVICE
    assert topics_read(service) == set(wired.topics)


def test_the_projector_subscribes_to_all_that_it_projects() -> None:
    assert topics_read("projector") < set(TOPICS)


def test_every_group_reads_something_and_a_stranger_nothing() -> None:
    assert all(topics_read(group) for group in SERVICES)
    assert topics_read("nobody") == frozenset()
