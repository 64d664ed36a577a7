"""Every file that a container reads at its start, made from the templates in ``infra``."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from infra.docker.network import CONF, MAILPIT_SMTP, inside, outside
from infra.kafka.cluster import new_cluster_id
from infra.local import configuration, jvm
from infra.local.layout import ROOT
from infra.local.postgres import access_rules
from infra.local.render import template
from infra.prometheus.configuration import RULES, TARGETS, targets
from infra.wiring import Wiring

ANSWERS = "answers.sh"
KAFKA_LIBS = Path("/opt/kafka/libs")
KAFKA_DATA = Path("/var/lib/kafka/data")
PLUGINS = Path("/opt/kafka/plugins")
REGISTRY_JAR = Path("/deployments/quarkus-run.jar")
SETTINGS = "settings.env"

Files = dict[str, str]


def all_files(
    passwords: Mapping[str, str], environ: Mapping[str, str] = os.environ
) -> dict[str, Files]:
    """For each container its files and nobody else's: relative path -> text.

    ``environ`` says where ports are published (SAGA_PORTS).
    """
    network, machine = inside(passwords), outside(passwords, environ)
    settings = network.environments()
    host, port = MAILPIT_SMTP
    # Where a person finds the trace, not a process.
    settings["order"]["SAGA_JAEGER_URL"] = machine.url("jaeger")
    settings["mail-sink"] |= {"SAGA_FORWARD_HOST": host, "SAGA_FORWARD_PORT": str(port)}
    return {
        "postgres": _postgres(network),
        "broker": _broker(network, machine),
        "registry": _registry(network),
        "connect": _connect(network),
        "jaeger": {"jaeger.yaml": configuration.jaeger(network)},
        "prometheus": _prometheus(network),
        **{name: {SETTINGS: _lines(values)} for name, values in settings.items()},
        "orderctl": {
            SETTINGS: _lines(network.orderctl()),
            "outside.env": _lines(machine.orderctl()),
        },
    }


def _postgres(network: Wiring) -> Files:
    settings: dict[str, str | int] = {
        "host": "*",
        "port": network.ports["postgres"],
        # The image prepares a new cluster through a socket.
        "sockets": "/var/run/postgresql",
    }
    return {
        "password": network.passwords["postgres"],
        "postgresql.conf": template("postgres/postgresql.conf", settings),
        "pg_hba.conf": "local all postgres scram-sha-256\n" + access_rules("samenet"),
    }


def _broker(network: Wiring, machine: Wiring) -> Files:
    conf, log4j = CONF / "broker.properties", CONF / "log4j2.yaml"
    # Clients on the machine reach the broker through the published port.
    second = (network.address("kafka_proxied"), machine.address("kafka"))
    return {
        "broker.properties": configuration.broker(network, str(KAFKA_DATA), second),
        "log4j2.yaml": (ROOT / "infra/kafka/log4j2.yaml").read_text(),
        "java.args": _arguments(jvm.broker(KAFKA_LIBS, log4j, conf)),
        "format.args": _arguments(jvm.format_storage(KAFKA_LIBS, conf, new_cluster_id())),
    }


def _connect(network: Wiring) -> Files:
    conf, log4j = CONF / "connect.properties", CONF / "log4j2.yaml"
    return {
        "connect.properties": configuration.connect(network, str(PLUGINS)),
        "log4j2.yaml": (ROOT / "infra/connect/log4j2.yaml").read_text(),
        "java.args": _arguments(jvm.connect(KAFKA_LIBS, log4j, conf)),
        ANSWERS: _answers(),
        "secrets.sh": f"export SAGA_DBZ_PASSWORD={network.passwords['debezium']}\n",
    }


def _registry(network: Wiring) -> Files:
    password = network.passwords["registry_svc"]
    return {
        "java.args": _arguments(jvm.registry(network, REGISTRY_JAR, Path("/tmp"))),  # noqa: S108
        ANSWERS: _answers(),
        "secrets.sh": f"export APICURIO_DATASOURCE_PASSWORD={password}\n",
    }


def _prometheus(network: Wiring) -> Files:
    rules = {f"rules/{file.name}": file.read_text() for file in sorted(RULES.glob("*.yml"))}
    config = {"prometheus.yml": (ROOT / "infra/prometheus/prometheus.yml").read_text()}
    return config | {TARGETS: targets(network.address)} | rules


def _answers() -> str:
    return (ROOT / "infra/docker" / ANSWERS).read_text()


def _arguments(words: Iterable[str]) -> str:
    """A file of arguments as ``java @file`` reads it."""
    return "".join(f'"{word}"\n' for word in words)


def _lines(values: Mapping[str, str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in values.items())
