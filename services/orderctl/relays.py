"""The relays as an operator sees them: connector, replication slot and unpublished rows."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import requests
import tenacity

from infra.connect.rest import Connect
from infra.names import EMITTERS, connector
from services.eventkit import relay
from services.eventkit.relay import AT_RISK, INACTIVE, MISSING, Relay
from services.orderctl.settings import Settings
from services.orderctl.verify.databases import reading

AWAY = "away"
"""Connect does not answer."""
RUNNING = "running"
TASKLESS = "without a task"
START_SECONDS = 30.0
"""A relay that has not read by then is not just starting."""


@dataclass(frozen=True, slots=True)
class Status:
    """One service's relay. ``connector`` is running, failed, paused, missing, ... or away."""

    service: str
    connector: str
    cause: str
    relay: Relay

    @property
    def well(self) -> bool:
        """True while the outbox is being read."""
        return self.relay.state == relay.STREAMING and self.connector == RUNNING

    @property
    def broken(self) -> bool:
        """True where rows may have been passed over.

        A task that failed because its place is gone says so; its slot may look healthy.
        """
        return self.relay.broken or "no longer available on the server" in self.cause

    @property
    def remedy(self) -> str:
        """What to do about it; empty where nothing is to be done."""
        if self.broken:
            return f"orderctl cdc recover {self.service}"
        if self.relay.state == AT_RISK:
            return "start Connect now: the slot is lost at the next checkpoint"
        if self.connector == AWAY:
            return "make status; Connect is started again by itself"
        if self.connector == "failed":
            return "connect-guardian restarts it; see its cause"
        if self.connector in ("paused", "stopped"):
            return f"resume it: PUT /connectors/{connector(self.service)}/resume"
        if self.connector == MISSING:
            return "make up"
        return "wait: it is only just starting" if self.starting else ""

    @property
    def starting(self) -> bool:
        """True for the seconds after a start in which it either reads on or finds its place gone.

        A failing relay is in it again and again: the guardian restarts it.
        """
        running = self.connector in (RUNNING, TASKLESS)
        return running and self.relay.state == INACTIVE and not self.broken

    def as_json(self) -> dict[str, Any]:
        """Everything, the age of the oldest unpublished row in seconds."""
        slot = self.relay
        return {
            "service": self.service,
            "connector": self.connector,
            "cause": self.cause,
            "slot": slot.slot,
            "state": slot.state,
            "lag_bytes": slot.lag_bytes,
            "retained_bytes": slot.retained_bytes,
            "unpublished_rows": slot.unpublished,
            "oldest_unpublished": slot.oldest,
            "oldest_unpublished_seconds": slot.age(datetime.now(UTC)),
            "well": self.well,
            "remedy": self.remedy,
        }


def read(settings: Settings, services: tuple[str, ...] = EMITTERS) -> list[Status]:
    """The relay of each service."""
    return [_read(settings, service) for service in services]


def settled(settings: Settings, service: str) -> Status:
    """The relay of one service, waited for while it is only just starting."""
    attempts = tenacity.Retrying(
        retry=tenacity.retry_if_result(lambda status: status.starting),
        wait=tenacity.wait_fixed(0.3),
        stop=tenacity.stop_after_delay(START_SECONDS),
        retry_error_callback=lambda last: last.outcome and last.outcome.result(),
    )
    status: Status = attempts(_read, settings, service)
    return status


def _read(settings: Settings, service: str) -> Status:
    with reading(settings, service) as conn:
        found = relay.look(conn, service)
    state, cause = _connector(settings, service)
    return Status(service, state, cause, found)


def _connector(settings: Settings, service: str) -> tuple[str, str]:
    connect = Connect(settings.connect_url.rstrip("/"))
    try:
        states = connect.states(connector(service))
    except requests.RequestException as error:
        return AWAY, type(error).__name__
    if not states:
        return MISSING, ""
    for state, cause in states:
        if state != "RUNNING":
            return state.lower(), cause
    return (RUNNING, "") if len(states) > 1 else (TASKLESS, "")
