"""How the parts of one system find each other: addresses, passwords and every process's settings.

The embedded stack fills it with ports of this machine, the containers with names of a network; what
is made of it is the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from infra.local.passwords import PROVIDER_WEBHOOK
from infra.local.ports import HOST, Ports
from infra.names import EMITTERS, SERVICES, database, role

REGISTRY_API = "/apis/ccompat/v7"
REGISTRY = ("registry_svc", "registry_db")
"""The schema registry's account and database."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring:
    """Parts go by their names in ``infra/ports.toml``, processes by those in ``make status``."""

    ports: Ports
    passwords: Mapping[str, str]
    data: Path
    """Below it every stand-in keeps what it remembers."""
    keys_file: Path | None = None
    """The API keys, once there are any."""
    hosts: Mapping[str, str] = field(default_factory=dict)
    """Where a part is reached, unless that is 127.0.0.1."""
    fronts: Mapping[str, str] = field(default_factory=dict)
    """Through which other part the system's own processes reach a part."""
    listens: str = HOST
    """The address every process of ours listens on."""
    overrides: Mapping[str, str] = field(default_factory=dict)
    """Settings that whoever starts the system gives to all services."""

    def address(self, part: str) -> str:
        """``host:port`` of a part."""
        return f"{self.hosts.get(part, HOST)}:{self.ports[part]}"

    def url(self, part: str) -> str:
        """The HTTP address of a part, without a slash at its end."""
        return f"http://{self.address(part)}"

    def inside(self, part: str) -> str:
        """``host:port`` at which the system's own processes reach a part."""
        return self.address(self.fronts.get(part, part))

    def inside_host_and_port(self, part: str) -> tuple[str, int]:
        """The two halves of `inside`."""
        host, _, port = self.inside(part).rpartition(":")
        return host, int(port)

    def database_url(self, account: str, name: str) -> str:
        """SQLAlchemy's address of a database for one of the accounts."""
        return self._database_url(account, name, self.address("postgres"))

    def _database_url(self, account: str, name: str, address: str) -> str:
        return f"postgresql+psycopg://{account}:{self.passwords[account]}@{address}/{name}"

    @property
    def registry_url(self) -> str:
        """The registry's Confluent-compatible API."""
        return self.url("registry") + REGISTRY_API

    @property
    def slots_url(self) -> str:
        """Any database, opened by an account that may look at the replication slots."""
        return self.database_url("auditor", database(SERVICES[0]))

    def environments(self) -> dict[str, dict[str, str]]:
        """The settings of every process of ours."""
        return {
            "connect-guardian": self._guardian(),
            "payment-provider": self._payment_provider(),
            "mail-sink": self._mail_sink(),
            **{name: self._service(name, name) | self._own(name) for name in EMITTERS},
            "projector-agent": self._service("projector", "projector_agent"),
            "projector-api": self._service("projector", "projector"),
        }

    def registry(self) -> dict[str, str | int]:
        """The schema registry's settings, but for its password."""
        account, name = REGISTRY
        return {
            "quarkus.http.host": self.listens,
            "quarkus.http.port": self.ports["registry"],
            "quarkus.management.host": self.listens,
            "quarkus.management.port": self.ports["registry_management"],
            "apicurio.storage.kind": "sql",
            "apicurio.storage.sql.kind": "postgresql",
            "apicurio.datasource.url": f"jdbc:postgresql://{self.inside('postgres')}/{name}",
            "apicurio.datasource.username": account,
            # Twenty connections by default; nobody asks it for more than a few schemas.
            "apicurio.datasource.jdbc.initial-size": 1,
            "apicurio.datasource.jdbc.min-size": 1,
            "apicurio.datasource.jdbc.max-size": 5,
        }

    def orderctl(self) -> dict[str, str]:
        """What orderctl reads: every address, and the account that may read all databases."""
        keys = {"SAGA_KEYS_FILE": str(self.keys_file)} if self.keys_file else {}
        return {
            **{f"SAGA_{name.upper()}_URL": self.url(name) for name in SERVICES},
            **self._traced(),
            **keys,
            "SAGA_AGENT_URL": self.url("projector_agent"),
            "SAGA_GUARDIAN_URL": self.url("connect_guardian"),
            "SAGA_JAEGER_URL": self.url("jaeger"),
            "SAGA_PROVIDER_URL": self.url("payment_provider"),
            "SAGA_MAIL_URL": self.url("mail_http"),
            "SAGA_CONNECT_URL": self.url("connect"),
            "SAGA_KAFKA_BOOTSTRAP": self.address("kafka"),
            "SAGA_REGISTRY_URL": self.registry_url,
            "SAGA_AUDITOR_URL": self.database_url("auditor", ""),
            # The recovery of a lost replication slot drops what is left of it.
            "SAGA_RELAY_URL": self.database_url("debezium", ""),
            # A replay stops and starts the projector, and swaps tables of what it rebuilds.
            **{
                f"SAGA_{name.upper()}_DATABASE_URL": self.database_url(role(name), database(name))
                for name in ("projector", "analytics")
            },
        }

    def _http(self, port: str) -> dict[str, str]:
        return {"SAGA_HTTP_HOST": self.listens, "SAGA_HTTP_PORT": str(self.ports[port])}

    def _traced(self) -> dict[str, str]:
        return {"SAGA_OTLP_ENDPOINT": self.url("otlp_http")}

    def _guardian(self) -> dict[str, str]:
        host, port = self.inside_host_and_port("postgres")
        return {
            **self._http("connect_guardian"),
            "SAGA_CONNECT_URL": self.url("connect"),
            "SAGA_DATABASE_HOST": host,
            "SAGA_DATABASE_PORT": str(port),
            "SAGA_KAFKA_BOOTSTRAP": self.inside("kafka"),
        }

    def _payment_provider(self) -> dict[str, str]:
        return {
            **self._traced(),
            **self._http("payment_provider"),
            "SAGA_DATA_DIR": str(self.data / "payment-provider"),
            "SAGA_WEBHOOK_URL": f"{self.url('payment')}/webhooks/provider",
            "SAGA_WEBHOOK_SECRET": self.passwords[PROVIDER_WEBHOOK],
        }

    def _mail_sink(self) -> dict[str, str]:
        return {
            **self._traced(),
            **self._http("mail_http"),
            "SAGA_DATA_DIR": str(self.data / "mail-sink"),
            "SAGA_SMTP_PORT": str(self.ports["mail_smtp"]),
        }

    def _service(self, service: str, port: str) -> dict[str, str]:
        """What every service needs. ``overrides`` may not point it at something else."""
        keys = {"SAGA_KEYS_FILE": str(self.keys_file)} if self.keys_file else {}
        return {
            # Everything is reached from this machine only: whoever asks without a key is let in.
            "SAGA_OPEN_TENANT": "demo",
            **self.overrides,
            **self._traced(),
            **keys,
            "SAGA_DATABASE_URL": self._database_url(
                role(service), database(service), self.inside("postgres")
            ),
            "SAGA_KAFKA_BOOTSTRAP": self.inside("kafka"),
            "SAGA_REGISTRY_URL": self.registry_url,
            **self._http(port),
        }

    def _own(self, service: str) -> dict[str, str]:
        """What one service needs besides."""
        smtp_host, smtp_port = self.inside_host_and_port("mail_smtp")
        needs = {
            # All receivers of a demo's webhooks are on this machine, like everything else.
            "order": {"SAGA_JAEGER_URL": self.url("jaeger"), "SAGA_WEBHOOK_PRIVATE_TARGETS": "1"},
            "payment": {
                "SAGA_PROVIDER_URL": f"http://{self.inside('payment_provider')}",
                "SAGA_PROVIDER_WEBHOOK_SECRET": self.passwords[PROVIDER_WEBHOOK],
            },
            "email": {"SAGA_SMTP_HOST": smtp_host, "SAGA_SMTP_PORT": str(smtp_port)},
        }
        return needs.get(service, {})
