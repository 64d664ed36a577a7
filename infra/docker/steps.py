"""What is set up before the services start; every step may be run again and changes nothing."""

from infra.connect import connectors as relays
from infra.kafka import topics as list_of_topics
from infra.local import postgres
from infra.names import SERVICES, database, role
from infra.registry import provision
from infra.wiring import Wiring
from services.eventkit.migrate import migrate


def databases(system: Wiring) -> str:
    """Roles, databases and their newest schemas."""
    postgres.ensure_databases(system)
    for service in SERVICES:
        migrate(service, system.database_url(role(service), database(service)))
    return f"{len(SERVICES)} services, each with its own"


def topics(system: Wiring) -> str:
    """Every topic."""
    return list_of_topics.ensure(system.address("kafka"))


def schemas(system: Wiring) -> str:
    """Every released schema under its own id."""
    return provision.ensure(system.registry_url)


def connectors(system: Wiring) -> str:
    """Every connector, reading its outbox."""
    source = system.inside_host_and_port("postgres")
    return relays.ensure(system.url("connect"), *source, system.slots_url)
