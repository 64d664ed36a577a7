"""Repairing an order says of each step what came of it, and fails where one failed again."""

import json
from collections.abc import Callable
from uuid import uuid4

import pytest
from typer.testing import CliRunner, Result

from services.orderctl.__main__ import app
from services.orderctl.commands import repair as command
from services.orderctl.errors import NOT_ANSWERING, CliError
from services.orderctl.mending import Outcome, Step, known
from services.orderctl.settings import Settings

Do = Callable[[], Outcome]


def repair(monkeypatch: pytest.MonkeyPatch, *what: Do, options: str = "") -> Result:
    """The command over steps that do this."""
    steps = [
        Step("redrive", "email", f"redrive {n} letters", True, do) for n, do in enumerate(what)
    ]
    monkeypatch.setattr(command, "load_settings", lambda: None)
    monkeypatch.setattr(command, "Shop", lambda _: None)
    monkeypatch.setattr(command, "Operations", lambda *_: None)
    monkeypatch.setattr(command, "known", lambda _, order_id: order_id)
    monkeypatch.setattr(command, "plan", lambda *_: steps)
    return CliRunner().invoke(app, ["repair", str(uuid4()), "--yes", *options.split()])


def again() -> Outcome:
    return Outcome("rule: no", well=False)


def fine() -> Outcome:
    return Outcome("confirmed")


def away() -> Outcome:
    raise CliError("email does not answer", code=NOT_ANSWERING)


def test_all_that_went_well_is_a_success(monkeypatch: pytest.MonkeyPatch) -> None:
    done = repair(monkeypatch, fine)
    assert done.exit_code == 0
    assert "email: redrive 0 letters: confirmed" in done.stdout


def test_what_failed_again_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    assert repair(monkeypatch, again, fine).exit_code == 1
    done = repair(monkeypatch, again, fine, options="--json")
    assert done.exit_code == 1
    assert [(one["outcome"], one["well"]) for one in json.loads(done.stdout)] == [
        ("rule: no", False),
        ("confirmed", True),
    ]


def test_what_was_done_before_a_step_that_could_not_be_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done = repair(monkeypatch, fine, away)
    assert "redrive 0 letters: confirmed" in done.stdout
    assert isinstance(done.exception, CliError)


def test_what_is_no_id_is_no_order() -> None:
    with pytest.raises(CliError, match="there is no order 12"):
        known(Settings.model_construct(auditor_url="nowhere"), "12")
