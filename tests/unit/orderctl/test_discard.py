"""Giving a letter up cannot be taken back: somebody is asked, and told where it did not happen."""

from contextlib import contextmanager
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from services.orderctl import projector_letters
from services.orderctl.__main__ import app
from services.orderctl.commands import dlq
from services.orderctl.errors import CliError
from services.orderctl.operations import Aside, Decided
from services.orderctl.settings import Settings

LETTER = "5c0f6a2e-52a9-5d2e-9d55-3a1b6f0a1c11"


@pytest.fixture
def given_up(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was given up, where one letter of email is open."""
    since = datetime(2026, 1, 31, tzinfo=UTC)
    letter = Aside("email", "letter", LETTER, "k", "OrderPlaced", "dead", "rule", "no", 1, since)
    done: list[str] = []

    def discard(_: str, message_id: str) -> list[Decided]:
        done.append(message_id)
        return [Decided("email", message_id, "k", "discarded", "discarded")]

    monkeypatch.setattr(dlq, "load_settings", lambda: None)
    monkeypatch.setattr(dlq, "Shop", lambda _: None)
    monkeypatch.setattr(dlq, "Operations", lambda *_: SimpleNamespace(discard=discard))
    monkeypatch.setattr(dlq, "_open", lambda *_: [letter])
    return done


def discard(answer: str | None = None, *options: str) -> Result:
    command = ["dlq", "discard", LETTER, "--reason", "a test", *options]
    return CliRunner().invoke(app, command, input=answer)


@pytest.mark.parametrize("answer", ["n\n", None])
def test_nothing_is_given_up_unless_somebody_agrees(
    given_up: list[str], answer: str | None
) -> None:
    refused = discard(answer).exception
    assert isinstance(refused, CliError) and refused.code == 2
    assert given_up == []


@pytest.mark.parametrize(("answer", "options"), [("y\n", ()), (None, ("--yes",))])
def test_who_agrees_or_says_so_before_gives_it_up(
    given_up: list[str], answer: str | None, options: tuple[str, ...]
) -> None:
    assert discard(answer, *options).exit_code == 0
    assert given_up == [LETTER]


def test_a_letter_that_another_has_dealt_with_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def begin() -> Any:
        yield SimpleNamespace(execute=lambda *_: SimpleNamespace(all=list))

    engine = SimpleNamespace(begin=begin)
    monkeypatch.setattr("sqlalchemy.create_engine", lambda *_, **__: engine)
    settings = Settings.model_construct(projector_database_url="somewhere")
    with pytest.raises(CliError, match="no dead letter of the projector any more"):
        projector_letters.discard(settings, LETTER, "anna", "why")
