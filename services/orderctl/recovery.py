"""Giving a relay a new replication slot in place of a lost one, without a hole, without noise.

The connector begins anew at the present (``no_data``: nothing that is in the outbox is read again),
then whatever is not on its topic is published from the outbox. Run again at any point it goes on.
"""

import time
from collections.abc import Callable
from typing import TypeVar

import psycopg
import requests
import tenacity

from infra.connect.rest import Connect, NotYet
from infra.names import connector, database
from services.eventkit.relay import MISSING, STREAMING, slot_of
from services.orderctl import relays
from services.orderctl.errors import NOT_ANSWERING, CliError
from services.orderctl.settings import Settings, missing

SECONDS = 90.0
FRESH = "no_data"
USUAL = "initial"
Tell = Callable[[str], None]
T = TypeVar("T")

_DROP = """
SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots
WHERE slot_name = %s AND NOT active"""


def new_slot(settings: Settings, service: str, tell: Tell) -> None:
    """Drops what is left of the old slot and has the connector make and read a new one.

    Needs the relay's own database account. Raises `CliError` where it does not come right in time.
    """
    if not settings.relay_url:
        raise missing("SAGA_RELAY_URL")
    connect, name = Connect(settings.connect_url.rstrip("/")), connector(service)
    config = _patiently(lambda: _config(connect, name), "Connect to answer")
    tell("stopping the connector")
    connect.stop(name)
    _patiently(lambda: _require(len(connect.states(name)) == 1), "the connector's task to end")
    tell("dropping the slot")
    _patiently(lambda: _drop(settings, service), "the slot to be free")
    _patiently(lambda: connect.forget_offsets(name), "the connector's place to be forgotten")
    tell("starting at the present, with a new slot")
    connect.put_config(name, {**config, "snapshot.mode": FRESH})
    connect.resume(name)
    _wait_until_read(settings, service)
    # Without a stored place the usual mode would read the whole outbox again.
    _patiently(lambda: _require(connect.has_offsets(name)), "the connector to store its place")
    connect.put_config(name, {**config, "snapshot.mode": USUAL})
    _wait_until_read(settings, service)


def _config(connect: Connect, name: str) -> dict[str, str]:
    config = connect.config_of(name)
    if config is None:
        raise CliError(f"there is no connector {name}", "make up registers it")
    return config


def _drop(settings: Settings, service: str) -> None:
    url = f"{settings.relay_url.rstrip('/')}/{database(service)}".replace("+psycopg", "", 1)
    with psycopg.connect(url, connect_timeout=5, autocommit=True) as connection:
        connection.execute(_DROP, [slot_of(service)])
    (status,) = relays.read(settings, (service,))
    _require(status.relay.state == MISSING)


def _wait_until_read(settings: Settings, service: str) -> None:
    def look() -> None:
        (status,) = relays.read(settings, (service,))
        if status.relay.state != STREAMING or status.connector != relays.RUNNING:
            raise NotYet(f"connector {status.connector}, slot {status.relay.state}: {status.cause}")

    _patiently(look, "the new slot to be read")


def _require(holds: bool) -> None:
    if not holds:
        raise NotYet


def _patiently(work: Callable[[], T], what: str) -> T:
    attempts = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(
            (NotYet, requests.RequestException, psycopg.OperationalError)
        ),
        wait=tenacity.wait_exponential(multiplier=0.2, max=2),
        stop=tenacity.stop_after_delay(SECONDS),
        reraise=True,
    )
    started = time.monotonic()
    try:
        return attempts(work)
    except (NotYet, requests.RequestException, psycopg.OperationalError) as error:
        raise CliError(
            f"waited {time.monotonic() - started:.0f} s for {what}: {error}",
            "look at Connect's log, then run it again: it goes on where it stopped",
            code=NOT_ANSWERING,
        ) from error
