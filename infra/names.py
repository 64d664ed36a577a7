"""Every name the infrastructure uses, derived from the name of a service."""

EMITTERS = ("order", "payment", "inventory", "email", "analytics")
"""Services that emit events: each has an outbox, a connector, a topic and a dead letter topic."""

SERVICES = (*EMITTERS, "projector")
"""All services: each has a database and a role of its own."""


def database(service: str) -> str:
    """The database of a service."""
    return f"{service}_db"


def role(service: str) -> str:
    """The PostgreSQL role that owns, and may open, only that database."""
    return f"{service}_svc"


def events_topic(service: str) -> str:
    """The topic a service's events travel on."""
    return f"{service}.events"


def dead_letter_topic(service: str) -> str:
    """The topic that mirrors a service's dead letters."""
    return f"{service}.dlq"


def connector(service: str) -> str:
    """The Debezium connector that forwards a service's outbox."""
    return f"outbox-{service}"


def slot(service: str) -> str:
    """The replication slot that connector reads."""
    return f"outbox_{service}"


def topic_prefix(service: str) -> str:
    """Debezium's name for a service's database."""
    return f"dbz.{service}"


def heartbeat_topic(service: str) -> str:
    """The topic of that connector's heartbeats, which must exist before it starts."""
    return f"__debezium-heartbeat.{topic_prefix(service)}"


PUBLICATION = "outbox_pub"
"""The publication each service's migrations make of its outbox."""
