"""What is the same for every order: relays, consumer groups, circuit breakers."""

import re

from services.orderctl import relays
from services.orderctl.client import Shop
from services.orderctl.errors import CliError
from services.orderctl.groups import Group, read_groups
from services.orderctl.operations import Operations
from services.orderctl.settings import Settings
from services.orderctl.stuck.causes import Surroundings

SERVICES = ("order", "inventory", "payment")
_OPEN_BREAKER = re.compile(r'^saga_breaker_open\{remote="([^"]+)"\} 1\.0$', re.MULTILINE)


def look(settings: Settings) -> Surroundings:
    """Everything that answers; a service that does not is left out."""
    operations = Operations(Shop(settings))
    return Surroundings(
        relays={status.service: status for status in relays.read(settings, SERVICES)},
        groups=_groups(settings),
        open_breakers={name: _open_breakers(operations, name) for name in SERVICES},
    )


def _groups(settings: Settings) -> dict[str, Group] | None:
    try:
        return {group.name: group for group in read_groups(settings.kafka_bootstrap, SERVICES)}
    except CliError:
        return None


def _open_breakers(operations: Operations, service: str) -> tuple[str, ...]:
    try:
        text = operations.service(service).send("GET", "/metrics").text
    except CliError:
        return ()
    return tuple(_OPEN_BREAKER.findall(text))
