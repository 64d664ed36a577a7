"""The fake payment provider keeps its word across timeouts, lost clients and kills."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tenacity import retry, stop_after_delay, wait_fixed

from tests.integration.fakes.bank import charge, moved, new_key, status
from tests.integration.fakes.conftest import PROVIDER
from tests.integration.fakes.processes import Running


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[Running]:
    """A provider of the test's own, to be killed."""
    running = Running(PROVIDER, tmp_path)
    running.start()
    yield running
    running.kill()


def client_of(running: Running, timeout: float = 5) -> httpx.Client:
    """A client that gives up after ``timeout`` seconds."""
    return httpx.Client(base_url=running.url, timeout=timeout)


@retry(stop=stop_after_delay(10), wait=wait_fixed(0.05), reraise=True)
def wait_for_status(client: httpx.Client, key: str, wanted: str) -> None:
    """Return when the charge has the status; fail after ten seconds."""
    assert status(client, key) == wanted


def test_the_timed_out_charge_was_made_and_is_told_at_once(mortal: Running) -> None:
    key = new_key()
    with client_of(mortal, timeout=0.5) as client:
        with pytest.raises(httpx.ReadTimeout):
            charge(client, key, "tok_timeout_then_ok")
        assert status(client, key) == "captured"
        assert charge(client, key, "tok_timeout_then_ok").status_code == 201
        assert moved(client, key) == [("capture", 4200)]


def test_a_slow_charge_goes_on_without_its_client(mortal: Running) -> None:
    key = new_key()
    with client_of(mortal, timeout=0.3) as client, pytest.raises(httpx.ReadTimeout):
        charge(client, key, "tok_slow_1000")
    with client_of(mortal) as client:
        wait_for_status(client, key, "captured")
        assert moved(client, key) == [("capture", 4200)]


def test_a_repeat_waits_for_the_slow_charge(mortal: Running) -> None:
    key = new_key()
    with client_of(mortal, timeout=0.3) as client, pytest.raises(httpx.ReadTimeout):
        charge(client, key, "tok_slow_1000")
    with client_of(mortal) as client:
        assert charge(client, key, "tok_slow_1000").json()["status"] == "captured"
        assert moved(client, key) == [("capture", 4200)]


def test_a_kill_loses_no_charge(mortal: Running) -> None:
    keys = [new_key() for _ in range(20)]
    with client_of(mortal) as client:
        for key in keys:
            charge(client, key)
    mortal.kill()
    mortal.start()
    with client_of(mortal) as client:
        assert [moved(client, key) for key in keys] == [[("capture", 4200)]] * 20


def test_a_slow_charge_is_settled_by_the_next_process(mortal: Running) -> None:
    key = new_key()
    with client_of(mortal, timeout=0.3) as client, pytest.raises(httpx.ReadTimeout):
        charge(client, key, "tok_slow_1500")
    mortal.kill()
    mortal.start()
    with client_of(mortal) as client:
        wait_for_status(client, key, "captured")
        assert moved(client, key) == [("capture", 4200)]


def test_the_flaky_count_survives_a_kill(mortal: Running) -> None:
    key = new_key()
    with client_of(mortal) as client:
        assert charge(client, key, "tok_flaky_2").status_code == 503
    mortal.kill()
    mortal.start()
    with client_of(mortal) as client:
        assert [charge(client, key, "tok_flaky_2").status_code for _ in "12"] == [503, 201]


def test_it_stops_cleanly_when_the_client_of_a_slow_charge_has_gone(mortal: Running) -> None:
    key = new_key()
    with client_of(mortal, timeout=0.3) as client, pytest.raises(httpx.ReadTimeout):
        charge(client, key, "tok_timeout_then_ok.tok_slow_60000")
    assert mortal.stop() == 0
    assert "Traceback" not in mortal.log


def test_a_missing_setting_is_named(tmp_path: Path) -> None:
    running = Running(PROVIDER, tmp_path, SAGA_HTTP_PORT="not a port")
    with pytest.raises(RuntimeError, match="SAGA_HTTP_PORT"):
        running.start()
