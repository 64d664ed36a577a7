from pathlib import Path

import pytest

from services.orderctl.errors import CliError
from services.orderctl.settings import Settings, load_settings

NAMES = [
    f"SAGA_{name.upper()}" for name, field in Settings.model_fields.items() if field.is_required()
]


@pytest.fixture
def env_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (*NAMES, "SAGA_PROJECTOR_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "orderctl.env"
    path.write_text("".join(f"{name}=from-file\n" for name in NAMES))
    monkeypatch.setenv("SAGA_ENV_FILE", str(path))
    return path


def test_the_environment_wins_over_the_file(
    env_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAGA_ORDER_URL", "from-environment")
    settings = load_settings()
    assert (settings.order_url, settings.mail_url) == ("from-environment", "from-file")


def test_a_missing_setting_is_named_with_the_next_step(env_file: Path) -> None:
    env_file.write_text(env_file.read_text().replace("SAGA_MAIL_URL=from-file\n", ""))
    with pytest.raises(CliError, match="SAGA_MAIL_URL") as raised:
        load_settings()
    assert "SAGA_ORDER_URL" not in raised.value.message
    assert "make up" in raised.value.next_step


def test_a_missing_file_is_named(env_file: Path) -> None:
    env_file.unlink()
    with pytest.raises(CliError, match="does not exist") as raised:
        load_settings()
    assert str(env_file) in raised.value.message


def test_a_service_has_its_own_database(env_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAGA_AUDITOR_URL", "postgresql+psycopg://auditor:pw@host:1/")
    url = load_settings().database_url("email")
    assert url == "postgresql+psycopg://auditor:pw@host:1/email_db"
