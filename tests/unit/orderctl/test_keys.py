"""Replacing a key: the old one works on for a while, but never longer than it would have."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from services.eventkit import keyfile
from services.eventkit.keyfile import Keys
from services.orderctl.__main__ import app
from services.orderctl.commands import keys as command
from services.orderctl.errors import CliError

SOON = timedelta(minutes=5)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "keys.json"
    monkeypatch.setattr(command, "keys_file", lambda: made)
    return made


def key_that_expires(path: Path, at: datetime | None) -> str:
    keys = Keys()
    key_id, _ = keys.add("acme", keyfile.now())
    keys.keys[key_id].expires_at = at
    keyfile.write(path, keys)
    return key_id


def rotate(key_id: str, *options: str) -> Result:
    return CliRunner().invoke(app, ["keys", "rotate", key_id, *options])


def test_the_old_key_works_on_for_the_grace(path: Path) -> None:
    key_id = key_that_expires(path, None)
    assert rotate(key_id, "--grace", "300").exit_code == 0
    ends = keyfile.read(path).keys[key_id].expires_at
    assert ends is not None and abs(ends - datetime.now(UTC) - SOON) < timedelta(seconds=30)


def test_an_expired_key_does_not_come_back(path: Path) -> None:
    expired = datetime.now(UTC) - SOON
    key_id = key_that_expires(path, expired)
    refused = rotate(key_id).exception
    assert isinstance(refused, CliError) and "expired" in refused.message
    keys = keyfile.read(path).keys
    assert list(keys) == [key_id] and keys[key_id].expires_at == expired


def test_a_grace_never_prolongs_a_key(path: Path) -> None:
    soon = datetime.now(UTC) + SOON
    key_id = key_that_expires(path, soon)
    assert rotate(key_id, "--grace", "3600").exit_code == 0
    assert keyfile.read(path).keys[key_id].expires_at == soon
    assert rotate(key_id, "--grace", "0").exit_code == 0
    ends = keyfile.read(path).keys[key_id].expires_at
    assert ends is not None and ends <= datetime.now(UTC)


@pytest.mark.parametrize("grace", ["nan", "1e20", "-1", "inf"])
def test_a_grace_that_is_no_time_changes_nothing(path: Path, grace: str) -> None:
    key_id = key_that_expires(path, None)
    refused = rotate(key_id, "--grace", grace)
    code = refused.exception.code if isinstance(refused.exception, CliError) else refused.exit_code
    assert code == 2
    assert list(keyfile.read(path).keys) == [key_id]
