"""Where the parts are in the network of the containers, and where their files are."""

import os
from collections.abc import Mapping
from pathlib import Path

from infra.local import ports
from infra.local.ports import Ports
from infra.names import EMITTERS
from infra.wiring import Wiring

HOSTS = {
    **{name: name for name in EMITTERS},
    "projector": "projector-api",
    "projector_agent": "projector-agent",
    "payment_provider": "payment-provider",
    "mail_smtp": "mail-sink",
    "mail_http": "mail-sink",
    "mailpit": "mailpit",
    "kafka": "broker",
    "kafka_controller": "broker",
    "kafka_proxied": "broker",
    "connect": "connect",
    "connect_guardian": "connect-guardian",
    "registry": "registry",
    "registry_management": "registry",
    "postgres": "postgres",
    "prometheus": "prometheus",
    "grafana": "grafana",
    "jaeger": "jaeger",
    "jaeger_grpc": "jaeger",
    "jaeger_health": "jaeger",
    "jaeger_metrics": "jaeger",
    "otlp_grpc": "jaeger",
    "otlp_http": "jaeger",
}
"""A part -> the service of docker-compose.yml that it is in."""
MAILPIT_SMTP = ("mailpit", 1025)
CONF = Path("/conf")
"""A container finds its own files here."""
DATA = Path("/data")
KEYS = Path("/keys/api-keys.json")


def inside(passwords: Mapping[str, str]) -> Wiring:
    """The wiring in the network: in there every port is the one that ``ports.toml`` says."""
    return Wiring(
        ports=ports.load({}),
        passwords=passwords,
        hosts=HOSTS,
        listens="0.0.0.0",  # noqa: S104 - of a container, published on 127.0.0.1 only
        data=DATA,
        keys_file=KEYS,
    )


def outside(passwords: Mapping[str, str], environ: Mapping[str, str] = os.environ) -> Wiring:
    """The same as it is seen from the machine, where the ports are published."""
    return Wiring(ports=published(environ), passwords=passwords, data=DATA)


def published(environ: Mapping[str, str] = os.environ) -> Ports:
    """The ports on the machine: docker-compose.yml can put SAGA_PORTS before two digits only."""
    hundreds = environ.get("SAGA_PORTS") or str(ports.load({}).base // 100)
    return ports.load({"PORT_BASE": f"{hundreds}00"})
