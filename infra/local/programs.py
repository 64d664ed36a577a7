"""Every process of the stack: its command, its environment and how it is stopped.

Supervisor stops programs in the reverse order of their priority, so that nothing is stopped
before what writes to it: services, then Connect, the registry, the broker and PostgreSQL.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from infra.local.account import die_with_parent
from infra.local.layout import ROOT
from infra.local.passwords import PROVIDER_WEBHOOK
from infra.local.ports import HOST
from infra.local.stack import Stack
from infra.names import EMITTERS

# Start fast and stay small: no second compiler, and a heap that gives back what it does not use.
JVM = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:MinHeapFreeRatio=10",
    "-XX:MaxHeapFreeRatio=30",
    "-Xss512k",
)
# Few malloc arenas: threads that come and go would otherwise each keep one.
SMALL = {"MALLOC_ARENA_MAX": "2"}


@dataclass(frozen=True, slots=True)
class Program:
    """One supervised process. ``account`` is set where Supervisor itself must give up root."""

    name: str
    command: tuple[str, ...]
    priority: int
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: Path = ROOT
    account: str = ""
    stop_signal: str = "TERM"
    stop_seconds: int = 15
    start_seconds: int = 2


def all_programs(stack: Stack) -> list[Program]:
    """The whole stack, in the order of its priorities."""
    programs = [
        _postgres(stack),
        _broker(stack),
        _registry(stack),
        _connect(stack),
        _guardian(stack),
        _jaeger(stack),
        *_toxiproxy(stack),
        *_fakes(stack),
        *(_service(stack, name) for name in EMITTERS),
        *_projector(stack),
    ]
    return sorted(programs, key=lambda program: program.priority)


def _postgres(stack: Stack) -> Program:
    guard = die_with_parent("INT", stack.postgres.account)
    account = stack.postgres.account
    return Program(
        "postgres",
        (*guard, str(stack.postgres.binary("postgres")), "-D", str(stack.postgres.data)),
        priority=10,
        environment={"LC_ALL": "C.UTF-8", "TZ": "UTC", "HOME": "/"},
        directory=Path("/"),
        account=account.name if account and not guard else "",
        stop_signal="INT",
    )


def _java(stack: Stack, heap: str, *arguments: str) -> tuple[str, ...]:
    java = (str(stack.java.path), *stack.java.options)
    return (*die_with_parent("TERM"), *java, *JVM, *heap.split(), *arguments)


def _broker(stack: Stack) -> Program:
    log4j = ROOT / "infra/kafka/log4j2.yaml"
    return Program(
        "broker",
        _java(
            stack,
            "-Xms48m -Xmx96m",
            f"-Dlog4j2.configurationFile={log4j}",
            "-cp",
            f"{stack.distributions.kafka_libs}/*",
            "kafka.Kafka",
            str(stack.layout.conf / "broker.properties"),
        ),
        priority=20,
        environment=SMALL,
    )


def _registry(stack: Stack) -> Program:
    ports = stack.ports
    settings = {
        "quarkus.http.host": "127.0.0.1",
        "quarkus.http.port": ports["registry"],
        "quarkus.management.host": "127.0.0.1",
        "quarkus.management.port": ports["registry_management"],
        "apicurio.storage.kind": "sql",
        "apicurio.storage.sql.kind": "postgresql",
        "apicurio.datasource.url": f"jdbc:postgresql://{stack.inside('postgres')}/registry_db",
        "apicurio.datasource.username": "registry_svc",
        # Twenty connections by default; nobody asks it for more than a few schemas.
        "apicurio.datasource.jdbc.initial-size": 1,
        "apicurio.datasource.jdbc.min-size": 1,
        "apicurio.datasource.jdbc.max-size": 5,
        "java.io.tmpdir": stack.layout.run,
    }
    options = [f"-D{name}={value}" for name, value in settings.items()]
    jar = stack.distributions.registry / "quarkus-run.jar"
    password = stack.passwords["registry_svc"]
    return Program(
        "registry",
        _java(stack, "-Xms24m -Xmx64m", *options, "-jar", str(jar)),
        priority=30,
        environment={**SMALL, "APICURIO_DATASOURCE_PASSWORD": password},
    )


def _connect(stack: Stack) -> Program:
    log4j = ROOT / "infra/connect/log4j2.yaml"
    return Program(
        "connect",
        _java(
            stack,
            "-Xms32m -Xmx160m",
            f"-Dlog4j2.configurationFile={log4j}",
            "-cp",
            f"{stack.distributions.kafka_libs}/*",
            "org.apache.kafka.connect.cli.ConnectDistributed",
            str(stack.layout.conf / "connect.properties"),
        ),
        priority=40,
        environment={**SMALL, "SAGA_DBZ_PASSWORD": stack.passwords["debezium"]},
    )


def _python(*arguments: str) -> tuple[str, ...]:
    return (*die_with_parent("TERM"), sys.executable, "-m", *arguments)


def _guardian(stack: Stack) -> Program:
    environment = {
        **SMALL,
        "SAGA_CONNECT_URL": stack.ports.url("connect"),
        "SAGA_HTTP_PORT": str(stack.ports["connect_guardian"]),
    }
    return Program(
        "connect-guardian", _python("infra.connect.guardian"), priority=45, environment=environment
    )


def _jaeger(stack: Stack) -> Program:
    return Program(
        "jaeger",
        _python("infra.jaeger"),
        priority=50,
        environment=stack.jaeger_environment(),
    )


def _toxiproxy(stack: Stack) -> list[Program]:
    if stack.toxiproxy is None:
        return []
    options = ("-host", HOST, "-port", str(stack.ports["toxiproxy"]))
    config = str(stack.layout.conf / "toxiproxy.json")
    command = (*die_with_parent("TERM"), str(stack.toxiproxy), *options, "-config", config)
    # Stopped after all that it connects, started before.
    return [Program("toxiproxy", command, priority=5)]


def _fakes(stack: Stack) -> list[Program]:
    common = {**SMALL, **stack.traced()}
    provider = {
        **common,
        "SAGA_DATA_DIR": str(stack.layout.data / "payment-provider"),
        "SAGA_HTTP_PORT": str(stack.ports["payment_provider"]),
        "SAGA_WEBHOOK_URL": f"{stack.ports.url('payment')}/webhooks/provider",
        "SAGA_WEBHOOK_SECRET": stack.passwords[PROVIDER_WEBHOOK],
    }
    sink = {
        **common,
        "SAGA_DATA_DIR": str(stack.layout.data / "mail-sink"),
        "SAGA_HTTP_PORT": str(stack.ports["mail_http"]),
        "SAGA_SMTP_PORT": str(stack.ports["mail_smtp"]),
    }
    return [
        Program("payment-provider", _python("infra.fakes.payment_provider"), 60, provider),
        Program("mail-sink", _python("infra.fakes.mail_sink"), 60, sink),
    ]


def _service(stack: Stack, name: str) -> Program:
    extra = {
        # All receivers of webhooks of an embedded stack are on this machine, like everything else.
        "order": {
            "SAGA_JAEGER_URL": stack.ports.url("jaeger"),
            "SAGA_WEBHOOK_PRIVATE_TARGETS": "1",
        },
        "payment": {
            "SAGA_PROVIDER_URL": f"http://{stack.inside('payment_provider')}",
            "SAGA_PROVIDER_WEBHOOK_SECRET": stack.passwords[PROVIDER_WEBHOOK],
        },
        "email": {"SAGA_SMTP_HOST": HOST, "SAGA_SMTP_PORT": str(stack.inside_port("mail_smtp"))},
    }
    environment = {**SMALL, **stack.service_environment(name, port=name), **extra.get(name, {})}
    return Program(name, _python(f"services.{name}"), 70, environment)


def _projector(stack: Stack) -> list[Program]:
    agent = {**SMALL, **stack.service_environment("projector", port="projector_agent")}
    api = {**SMALL, **stack.service_environment("projector", port="projector")}
    return [
        Program("projector-agent", _python("services.projector", "agent"), 80, agent),
        Program("projector-api", _python("services.projector", "api"), 80, api),
    ]
