"""Every service's handler table keeps to the one shape that the engine and docs/saga.md rely on."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from infra.names import EMITTERS, SERVICES, events_topic
from services.eventkit.decision import Handlers, On

ROOT = Path(__file__).parents[2]
TABLES = sorted(path.parent.name for path in ROOT.glob("services/*/handlers.py"))
INPUT_SOURCES = {"api", "job"}
"""Where an input comes from besides topics."""

services = pytest.mark.parametrize("service", TABLES)


def table(service: str) -> Handlers[Any]:
    """The service's handler table."""
    found: Handlers[Any] = import_module(f"services.{service}.handlers").HANDLERS
    return found


def transitions(service: str) -> Mapping[tuple[str | None, str], str]:
    """The service's transition table; empty where its state is no status."""
    domain = import_module(f"services.{service}.domain")
    found: Mapping[tuple[str | None, str], str] = getattr(domain, "TRANSITIONS", {})
    return found


@cache
def event_owners() -> Mapping[str, str]:
    """Every event type with the service whose schema folder it is in."""
    return {path.stem: path.parent.name for path in ROOT.glob("schemas/*/*.avsc")}


def consumed(service: str) -> Iterator[On[Any]]:
    """The lines whose input arrives on a topic."""
    return (line for line in table(service).values() if line.source not in INPUT_SOURCES)


def planned(service: str) -> set[str]:
    """The kinds of the service's jobs."""
    return {kind for line in table(service).values() for kind in line.jobs}


def test_there_are_tables_to_check() -> None:
    assert {"inventory", "payment"} <= set(TABLES) <= set(SERVICES)


@services
def test_every_line_has_a_rule_that_says_what_it_does(service: str) -> None:
    for input_type, line in table(service).items():
        assert line.type == input_type
        assert callable(line.rule)
        assert (line.rule.__doc__ or "").strip(), f"{line.rule} has no docstring"


@services
def test_it_subscribes_only_to_topics_that_exist_and_to_events_that_travel_there(
    service: str,
) -> None:
    for line in consumed(service):
        assert line.source in {events_topic(emitter) for emitter in EMITTERS}
        assert line.type in event_owners(), f"{line.type} has no schema"
        assert line.source == events_topic(event_owners()[line.type])


@services
def test_it_emits_only_events_of_its_own_that_have_a_schema(service: str) -> None:
    for line in table(service).values():
        for emitted in line.emits:
            assert event_owners().get(emitted) == service, emitted


@services
def test_every_job_comes_back_and_only_planned_ones_do(service: str) -> None:
    results = {line.type for line in table(service).values() if line.source == "job"}
    assert {kind.rpartition(".")[0] for kind in results} == planned(service)
    for result in results:
        assert result.rpartition(".")[2] in {"succeeded", "failed"}, result
    for kind in planned(service):
        assert f"{kind}.succeeded" in results, f"nobody waits for {kind}"


@services
def test_what_it_undoes_is_something_it_does(service: str) -> None:
    lines = table(service).values()
    own = {emitted for line in lines for emitted in line.emits}
    inputs = {line.type for line in lines}
    for line in lines:
        assert not line.undoes or line.undoes in own | planned(service) | inputs, line.undoes


@services
def test_every_transition_has_a_handler(service: str) -> None:
    """A domain of several parts, as a mailing of messages, may have words of its own instead."""
    steps = {step.partition(":")[0] for _, step in transitions(service)}
    handled = steps & set(table(service))
    assert handled in (steps, set()), steps - handled


@services
def test_every_status_can_be_reached_from_the_first(service: str) -> None:
    """One status at most is where all begins, and the others follow from it."""
    moves = transitions(service)
    first = {status for status, _ in moves} - set(moves.values())
    assert len(first) == (1 if moves else 0)
    reached = set(first)
    while more := {to for (status, _), to in moves.items() if status in reached} - reached:
        reached |= more
    assert reached == first | set(moves.values())


@services
def test_every_status_names_why_an_input_does_not_apply(service: str) -> None:
    ignored = getattr(import_module(f"services.{service}.domain"), "IGNORED", None)
    if ignored is None:
        return
    moves = transitions(service)
    steps = {step for _, step in moves}
    for status in {None, *moves.values()}:
        if any((status, step) not in moves for step in steps):
            assert ignored.get(status), status
