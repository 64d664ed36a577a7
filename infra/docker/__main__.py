"""One step of setting the containers up: ``python -m infra.docker configure`` and the others.

Every step may be run again and changes nothing. They are what `make up` does, in the same order,
which docker-compose.yml says by its conditions.
"""

import sys
from collections.abc import Callable
from pathlib import Path

from infra.docker.network import inside
from infra.local import passwords
from infra.local.errors import StackError
from infra.local.layout import Layout
from infra.names import SERVICES, database, role
from infra.wiring import Wiring

SECRETS = Layout(state=Path("/secrets"), cache=Path("/nowhere"))
"""Where the generated passwords are kept; only the containers that run these steps see it."""
CONFS = Path("/confs")
"""In the container that configures: a folder for each other container."""


def configure() -> str:
    """Passwords, once, and each container's files in a volume of its own."""
    from infra.docker.files import all_files

    files = all_files(passwords.load_or_make(SECRETS))
    for container, named in files.items():
        for name, text in named.items():
            (CONFS / container / name).write_text(text)
    return f"{len(files)} containers"


def databases() -> str:
    """Roles, databases and their newest schemas."""
    from infra.local import postgres
    from services.eventkit.migrate import migrate

    network = _network()
    postgres.ensure_databases(network)
    for service in SERVICES:
        migrate(service, network.database_url(role(service), database(service)))
    return f"{len(SERVICES)} services, each with its own"


def topics() -> str:
    """Every topic."""
    from infra.kafka import topics as wanted

    return wanted.ensure(_network().address("kafka"))


def schemas() -> str:
    """Every released schema under its own id."""
    from infra.registry import provision

    return provision.ensure(_network().registry_url)


def connectors() -> str:
    """Every connector, reading its outbox."""
    from infra.connect import connectors as wanted

    network = _network()
    postgres = network.inside_host_and_port("postgres")
    return wanted.ensure(network.url("connect"), *postgres, network.slots_url)


def _network() -> Wiring:
    return inside(passwords.read(SECRETS))


STEPS: dict[str, Callable[[], str]] = {
    step.__name__: step for step in (configure, databases, topics, schemas, connectors)
}


def main(names: list[str]) -> int:
    """Take the steps that are named; a problem is told with what to do next."""
    if not names or set(names) - STEPS.keys():
        sys.stderr.write(f"steps: {', '.join(STEPS)}\n")
        return 2
    try:
        for name in names:
            sys.stdout.write(f"{name}: {STEPS[name]()}\n")
    except StackError as error:
        sys.stderr.write(f"{error.problem}\n{error.next_step}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
