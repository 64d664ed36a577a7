"""What ``orderctl replay`` refuses before anything is touched, and what it says when it fails."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from sqlalchemy.exc import IntegrityError, OperationalError
from typer.testing import CliRunner

from services.eventkit.positions import Place, Unreachable
from services.eventkit.rebuild.model import RebuildFailed, RebuildRefused
from services.eventkit.rebuild.rebuilder import Rebuilder
from services.eventkit.registry import RegistryUnavailable
from services.orderctl.__main__ import app
from services.orderctl.commands import replay as command
from services.orderctl.errors import NOT_ANSWERING, CliError
from services.orderctl.replay_options import start_of, topics_of
from services.orderctl.settings import Settings
from services.projector.replay import FromOffsets, FromTime, Replayer, ReplayFailed
from services.projector.settings import TOPICS

IN_PLACE = "-t order.events --from-beginning"


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings under which no command can reach anything."""
    for name in Settings.model_fields:
        monkeypatch.setenv(f"SAGA_{name.upper()}", "")
    for name in ("PROJECTOR_DATABASE_URL", "ANALYTICS_DATABASE_URL"):
        monkeypatch.setenv(f"SAGA_{name}", "postgresql+psycopg://127.0.0.1:1/none")
    monkeypatch.setenv("SAGA_KAFKA_BOOTSTRAP", "127.0.0.1:1")
    monkeypatch.setattr(command, "places_of", lambda _, topics: [(topics[0], n) for n in range(3)])


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was called of all that changes or plans something."""
    called: list[str] = []

    def noting(name: str) -> Callable[..., None]:
        def note(*_: Any, **__: Any) -> None:
            called.append(name)
            raise RebuildRefused(name) if name != "plan" else ReplayFailed(name)

        return note

    for name in ("rebuild", "rollback", "drop"):
        monkeypatch.setattr(Rebuilder, name, noting(name))
    monkeypatch.setattr(Replayer, "plan", noting("plan"))
    return called


def told(options: str) -> CliError:
    """The error that the command ends with."""
    error = CliRunner().invoke(app, ["replay", *options.split()]).exception
    assert isinstance(error, CliError)
    return error


@pytest.mark.parametrize(
    ("options", "named", "instead"),
    [
        ("", "--topic, --shadow, --rollback and --drop", "give one of"),
        ("--dry-run", "--topic, --shadow, --rollback and --drop", "give one of"),
        ("--shadow --rollback", "--topic, --shadow, --rollback and --drop", "give one of"),
        ("--drop --dry-run", "--dry-run does not go with --drop", "leave it out"),
        ("--rollback --dry-run", "--dry-run does not go with --rollback", "leave it out"),
        ("--shadow --dry-run", "--dry-run does not go with --shadow", "give --no-swap"),
        ("--shadow --from-offset 0", "--from-offset does not", "always begins at the beginning"),
        ("--shadow --from-time x", "--from-time does not", "always begins at the beginning"),
        ("--shadow --from-beginning", "--from-beginning does", "always begins at the beginning"),
        ("--shadow --partition-offsets 0:1", "--partition-offsets", "begins at the beginning"),
        ("--rollback --from-offset 5", "--from-offset does not go with --rollback", "--topic"),
        ("--drop --from-beginning", "--from-beginning does not go with --drop", "--topic"),
        ("--rollback --no-swap", "--no-swap does not go with --rollback", "--shadow"),
        ("--drop --accept-differences", "--accept-differences does not go", "--shadow"),
        ("--rollback --processes 2", "--processes does not go with --rollback", "--shadow"),
        (f"{IN_PLACE} --processes 2", "--processes does not go with --topic", "--shadow"),
        (f"{IN_PLACE} --no-swap", "--no-swap does not go with --topic", "give --dry-run"),
        (f"{IN_PLACE} --model analytics", "--model analytics", "leave --model out"),
        ("--shadow --no-swap --accept-differences", "--no-swap and --accept", "leave one out"),
        ("-t order.events", "--from-beginning", "give one of"),
        (f"{IN_PLACE} --from-offset 3", "--from-offset N", "give one of"),
    ],
)
def test_options_that_do_not_go_together_change_nothing(
    options: str, named: str, instead: str, calls: list[str]
) -> None:
    error = told(options)
    assert (error.code, calls) == (2, [])
    assert named in error.message and instead in error.message


@pytest.mark.parametrize(
    ("options", "call"),
    [
        (f"{IN_PLACE} --dry-run", "plan"),
        (f"{IN_PLACE} --model projector", "plan"),
        ("-t order.events --from-offset 0", "plan"),
        ("-t order.events -t order.events --partition-offsets 0:1,2:5", "plan"),
        ("--shadow --no-swap --processes 2", "rebuild"),
        ("--shadow --accept-differences --model analytics", "rebuild"),
        ("--rollback --model analytics", "rollback"),
        ("--drop", "drop"),
    ],
)
def test_options_that_go_together_are_done(options: str, call: str, calls: list[str]) -> None:
    assert (told(options).code, calls) == (1, [call])


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ("--partition-offsets 0:1,0:5", "partition 0 twice"),
        ("--partition-offsets 0:1,7:5,9:1", "order.events has no partition 7, 9"),
        ("--partition-offsets 0", "not partition:offset,...: '0'"),
        ("--partition-offsets 0:-1", "not partition:offset,...: '0:-1'"),
        ("--from-time 2026-01-31T09:15:00", "not a time with its zone"),
        ("-t stock.events --from-beginning", "the projector does not read stock.events"),
    ],
)
def test_a_start_that_cannot_be_is_refused(options: str, why: str, calls: list[str]) -> None:
    error = told(f"-t order.events {options}")
    assert (error.code, calls) == (2, [])
    assert why in error.message


def test_a_topic_that_is_not_read_is_refused_with_those_that_are() -> None:
    assert topics_of(["email.events", "order.events", "email.events"]) == [
        "email.events",
        "order.events",
    ]
    with pytest.raises(CliError, match="does not read stock") as raised:
        topics_of(["order.events", "stock"])
    assert all(topic in raised.value.next_step for topic in TOPICS)


def test_a_start_is_read() -> None:
    assert start_of(False, None, "0:120,3:95", None) == FromOffsets({0: 120, 3: 95})
    assert start_of(False, None, None, "1970-01-01T00:00:01+00:00") == FromTime(1000)


def database(error: type[psycopg.Error]) -> OperationalError:
    return OperationalError("SELECT 1", {}, error("server closed\nthe connection"))


FAILURES = [
    (RebuildFailed("no moment"), 1),
    (Unreachable("broker: silent"), NOT_ANSWERING),
    (RegistryUnavailable("no answer"), NOT_ANSWERING),
    (database(psycopg.OperationalError), NOT_ANSWERING),
    (database(psycopg.errors.AdminShutdown), NOT_ANSWERING),
    (psycopg.OperationalError("consuming input failed"), NOT_ANSWERING),
    (psycopg.InterfaceError("the connection is closed"), NOT_ANSWERING),
    (database(psycopg.errors.DiskFull), 1),
    (psycopg.errors.DiskFull("no space left"), 1),
    (psycopg.errors.InsufficientPrivilege("not the owner"), 1),
    (IntegrityError("INSERT", {}, psycopg.errors.UniqueViolation("twice")), 1),
]


@pytest.mark.parametrize(("error", "code"), FAILURES, ids=repr)
@pytest.mark.parametrize(
    ("options", "next_step", "not_next"),
    [
        ("--shadow", "orderctl replay --shadow goes on, --drop", "--rollback"),
        ("--rollback", "orderctl replay --rollback again", "--drop"),
        ("--drop", "orderctl replay --drop again", "--shadow"),
        ("--rollback --model analytics", "orderctl replay --model analytics --rollback", "--drop"),
    ],
)
def test_every_command_has_a_next_step_of_its_own(
    options: str,
    next_step: str,
    not_next: str,
    error: Exception,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    for name in ("rebuild", "rollback", "drop"):
        monkeypatch.setattr(Rebuilder, name, fail)
    failure = told(options)
    assert failure.code == code
    assert next_step in failure.next_step and not_next not in failure.next_step
    assert ("make up" in failure.next_step) == (code == NOT_ANSWERING)
    assert "\n" not in failure.message


@pytest.mark.parametrize(("error", "code"), [(ReplayFailed("stalled"), 1), *FAILURES[1:]], ids=repr)
def test_a_replay_in_place_that_fails_is_explained(
    error: Exception, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(Replayer, "plan", fail)
    failure = told(IN_PLACE)
    assert (failure.code, "orderctl lag" in failure.next_step) == (code, True)


def test_a_broker_that_is_away_is_said_before_anything_else(
    monkeypatch: pytest.MonkeyPatch, calls: list[str]
) -> None:
    def away(*_: Any) -> list[Place]:
        raise Unreachable("broker: silent")

    monkeypatch.setattr(command, "places_of", away)
    assert (told(IN_PLACE).code, calls) == (NOT_ANSWERING, [])
