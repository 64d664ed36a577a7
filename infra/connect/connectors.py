"""Registers the outbox connectors and waits until each one really reads its database."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import psycopg
import requests
import tenacity

from infra.connect.config import all_configs
from infra.connect.rest import Connect, NotYet
from infra.connect.taskless import MISSING, RUNNING, Remaker, absent
from infra.local.errors import StackError
from infra.names import EMITTERS, connector, slot

_FAILED = "FAILED"
_UNREAD, _LOST = "replication slot missing", "replication slot lost"
_PLACE_GONE = "no longer available on the server"
_NOT_READY = (NotYet, requests.RequestException, psycopg.OperationalError)

T = TypeVar("T")


def ensure(
    connect_url: str,
    database_host: str,
    database_port: int,
    slots_dsn: str,
    wait_s: float = 150,
) -> str:
    """Brings every connector to its configuration and waits until all are reading.

    ``slots_dsn`` opens any database of the cluster with any account. A second run changes nothing;
    what has failed is restarted, what is paused goes on. Says what was done; raises `StackError`.
    """
    connect = Connect(connect_url.rstrip("/"))
    configs = all_configs(database_host, database_port)
    changed = 0
    for config in configs.values():
        changed += _patiently(partial(_apply, connect, config), wait_s)
    remaker = Remaker(connect, configs)
    _patiently(partial(_require_reading, connect_url, slots_dsn, remaker), wait_s)
    return f"{len(EMITTERS)} running" + (f", {changed} changed" if changed else "")


def problems(connect_url: str, slots_dsn: str) -> dict[str, str]:
    """Why a service's outbox is not being read, for each service of which that is so.

    RUNNING alone proves little: Connect says so of a task whose database is away, too.
    """
    connect, slots = Connect(connect_url.rstrip("/")), _slots(slots_dsn)
    found = {name: _problem(connect, name, slots.get(slot(name), _UNREAD)) for name in EMITTERS}
    return {name: problem for name, problem in found.items() if problem}


def _problem(connect: Connect, service: str, slot_problem: str) -> str:
    states = connect.states(connector(service))
    missing = absent(states)
    if missing == MISSING:
        return missing
    failed = [trace for state, trace in states if state == _FAILED]
    if slot_problem == _LOST or any(_PLACE_GONE in trace for trace in failed):
        return f"replication slot lost: orderctl cdc recover {service}"
    if failed:
        return f"connector failed: {failed[0]}"
    waiting = [state for state, _ in states if state != RUNNING]
    if waiting:
        return f"connector {waiting[0].lower()}"
    return missing or slot_problem


def _apply(connect: Connect, config: dict[str, str]) -> bool:
    """Whether it had to be changed."""
    name = config["name"]
    if connect.config_of(name) == config:
        return False
    connect.put_config(name, config)
    return True


def _require_reading(connect_url: str, slots_dsn: str, remaker: Remaker) -> None:
    found = problems(connect_url, slots_dsn)
    for service in EMITTERS:
        remaker.look(connector(service), found.get(service, ""))
    for service, problem in found.items():
        _revive(Connect(connect_url.rstrip("/")), connector(service), problem)
    lost = [name for name, problem in found.items() if problem.startswith(_LOST)]
    if lost:
        # Waiting is no use. Everything else runs; the rows are safe in the outbox.
        commands = ", ".join(f"orderctl cdc recover {name}" for name in lost)
        raise StackError(f"the replication slot of {', '.join(lost)} is lost", f"Run {commands}.")
    if found:
        raise NotYet("; ".join(f"{name}: {problem}" for name, problem in found.items()))


def _revive(connect: Connect, name: str, problem: str) -> None:
    if problem.startswith("connector failed"):
        connect.restart_failed(name)
    if problem in ("connector paused", "connector stopped"):
        connect.resume(name)


def _slots(dsn: str) -> dict[str, str]:
    """What is wrong with each slot there is; nothing where it is being read."""
    with psycopg.connect(dsn.replace("+psycopg", "", 1), connect_timeout=5) as connection:
        query = "SELECT slot_name, active, wal_status FROM pg_replication_slots"
        return {
            name: _LOST if status == "lost" else "" if active else "replication slot not active"
            for name, active, status in connection.execute(query)
        }


def _patiently(work: Callable[[], T], wait_s: float) -> T:
    attempts = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(_NOT_READY),
        wait=tenacity.wait_exponential(multiplier=0.2, max=2),
        stop=tenacity.stop_after_delay(wait_s),
        reraise=True,
    )
    try:
        return attempts(work)
    except _NOT_READY as error:
        raise StackError(
            f"the outbox connectors are not ready after {wait_s:.0f} s: {error}",
            "Look at Connect's log.",
        ) from error
