"""A wrong setting stops a process at start, by name."""

import pytest

from services.eventkit.settings import ServiceSettings, load

GOOD = {
    "SAGA_HTTP_PORT": "8080",
    "SAGA_DATABASE_URL": "postgresql+psycopg://user:secret@localhost/db",
    "SAGA_KAFKA_BOOTSTRAP": "localhost:9092",
    "SAGA_REGISTRY_URL": "http://localhost:8081",
}


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The environment of a service that is set up rightly."""
    for name, value in GOOD.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


def test_all_roles_run_in_one_process_unless_told_otherwise(
    environment: pytest.MonkeyPatch,
) -> None:
    assert load(ServiceSettings).roles == ("api", "consumer", "worker")
    environment.setenv("SAGA_ROLES", "consumer, worker")
    assert load(ServiceSettings).roles == ("consumer", "worker")


@pytest.mark.parametrize(
    ("name", "value"), [("SAGA_HTTP_PORT", "http"), ("SAGA_ROLES", "api,everything")]
)
def test_a_wrong_setting_is_named(
    environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, value: str
) -> None:
    environment.setenv(name, value)
    with pytest.raises(SystemExit) as caught:
        load(ServiceSettings)
    assert caught.value.code == 2
    assert name in capsys.readouterr().err


def test_a_missing_setting_is_named(
    environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    environment.delenv("SAGA_DATABASE_URL")
    with pytest.raises(SystemExit):
        load(ServiceSettings)
    assert "SAGA_DATABASE_URL" in capsys.readouterr().err
