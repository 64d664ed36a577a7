"""One embedded stack: its folders, ports, passwords and programs' whereabouts."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from infra.local import fetch, java, passwords
from infra.local.java import Java
from infra.local.layout import Layout
from infra.local.ports import HOST, Ports
from infra.local.postgres_home import PostgresHome
from infra.names import SERVICES, database, role
from infra.toxiproxy.binary import TOXIPROXY
from infra.toxiproxy.proxies import FRONTS

REGISTRY_API = "/apis/ccompat/v7"
# These say where a stack is, not how its services behave: each stack sets its own.
NOT_INHERITED = ("SAGA_STATE_DIR", "SAGA_CACHE_DIR", "SAGA_ENV_FILE", "SAGA_PROXIED")


@dataclass(frozen=True, slots=True)
class Stack:
    """All that is decided before a process starts. Building one starts nothing."""

    layout: Layout
    ports: Ports
    passwords: Mapping[str, str]
    java: Java
    distributions: fetch.Distributions
    postgres: PostgresHome
    overrides: Mapping[str, str]
    toxiproxy: Path | None = None
    """Where it is set, the processes of the stack reach each other through it."""

    def inside(self, part: str) -> str:
        """``host:port`` at which the stack's own processes reach a part."""
        return self.ports.address(FRONTS.get(part, part) if self.toxiproxy else part)

    def inside_port(self, part: str) -> int:
        """The port of `inside`."""
        return int(self.inside(part).rpartition(":")[2])

    def database_url(self, account: str, name: str) -> str:
        """SQLAlchemy's address of a database for one of the accounts."""
        return self._database_url(account, name, self.ports.address("postgres"))

    def _database_url(self, account: str, name: str, address: str) -> str:
        return f"postgresql+psycopg://{account}:{self.passwords[account]}@{address}/{name}"

    @property
    def registry_url(self) -> str:
        """The registry's Confluent-compatible API."""
        return self.ports.url("registry") + REGISTRY_API

    @property
    def slots_url(self) -> str:
        """Any database, opened by an account that may look at the replication slots."""
        return self.database_url("auditor", database(SERVICES[0]))

    def traced(self) -> dict[str, str]:
        """Where spans go."""
        return {"SAGA_OTLP_ENDPOINT": self.ports.url("otlp_http")}

    def service_environment(self, service: str, port: str) -> dict[str, str]:
        """The settings every service needs; ``port`` names the one it listens on.

        SAGA_ variables of whoever starts the stack come through, except where they would point
        a service at something outside it.
        """
        return {
            # Everything listens on this machine only, so whoever asks without a key is let in.
            "SAGA_OPEN_TENANT": "demo",
            **self.overrides,
            **self.traced(),
            "SAGA_KEYS_FILE": str(self.layout.api_keys),
            "SAGA_DATABASE_URL": self._database_url(
                role(service), database(service), self.inside("postgres")
            ),
            "SAGA_KAFKA_BOOTSTRAP": self.inside("kafka"),
            "SAGA_REGISTRY_URL": self.registry_url,
            "SAGA_HTTP_HOST": HOST,
            "SAGA_HTTP_PORT": str(self.ports[port]),
        }

    def jaeger_environment(self) -> dict[str, str]:
        """What the program that finds, builds and runs Jaeger needs."""
        return {
            "SAGA_CACHE_DIR": str(self.layout.cache),
            "SAGA_JAEGER_CONFIG": str(self.layout.conf / "jaeger.yaml"),
            # Collects garbage sooner: all it holds is the last traces.
            "GOGC": "50",
            "JAEGER_BIN": os.environ.get("JAEGER_BIN", ""),
        }

    def orderctl_environment(self) -> dict[str, str]:
        """What orderctl reads: every address, and the account that may read all databases."""
        services = {f"SAGA_{name.upper()}_URL": self.ports.url(name) for name in SERVICES}
        return {
            **services,
            **self.traced(),
            "SAGA_JAEGER_URL": self.ports.url("jaeger"),
            "SAGA_PROVIDER_URL": self.ports.url("payment_provider"),
            "SAGA_MAIL_URL": self.ports.url("mail_http"),
            "SAGA_CONNECT_URL": self.ports.url("connect"),
            "SAGA_KAFKA_BOOTSTRAP": self.ports.address("kafka"),
            "SAGA_REGISTRY_URL": self.registry_url,
            "SAGA_AUDITOR_URL": self.database_url("auditor", ""),
            "SAGA_KEYS_FILE": str(self.layout.api_keys),
            # The recovery of a lost replication slot drops what is left of it.
            "SAGA_RELAY_URL": self.database_url("debezium", ""),
            # A replay stops and starts the projector, and swaps tables of what it rebuilds.
            **{
                f"SAGA_{name.upper()}_DATABASE_URL": self.database_url(role(name), database(name))
                for name in ("projector", "analytics")
            },
        }


def prepare(where: Layout, ports: Ports, report: fetch.Report) -> Stack:
    """Everything a start needs that is not a process: a Java runtime, downloads, passwords.

    With SAGA_PROXIED=1 the stack's own connections go through Toxiproxy. Raises StackError when
    this machine does not allow it.
    """
    java.check_platform()
    return Stack(
        layout=where,
        ports=ports,
        passwords=passwords.load_or_make(where),
        java=java.find(where.cache),
        distributions=fetch.ensure(where.cache, report),
        postgres=PostgresHome.choose(where),
        overrides={
            name: value
            for name, value in os.environ.items()
            if name.startswith("SAGA_") and name not in NOT_INHERITED
        },
        toxiproxy=_toxiproxy(where, report) if os.environ.get("SAGA_PROXIED") == "1" else None,
    )


def _toxiproxy(where: Layout, report: fetch.Report) -> Path:
    report("toxiproxy (built once: a minute or two)")
    return TOXIPROXY.find_or_build(where.cache)
