"""Every process of the stack: its command, its environment and how it is stopped.

Supervisor stops programs in the reverse order of their priority, so that nothing is stopped
before what writes to it: services, then Connect, the registry, the broker and PostgreSQL.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from infra.local import jvm
from infra.local.account import die_with_parent
from infra.local.layout import ROOT
from infra.local.ports import HOST
from infra.local.stack import Stack

# Few malloc arenas: threads that come and go would otherwise each keep one.
SMALL = {"MALLOC_ARENA_MAX": "2"}
MODULES = {
    "connect-guardian": ("infra.connect.guardian",),
    "payment-provider": ("infra.fakes.payment_provider",),
    "mail-sink": ("infra.fakes.mail_sink",),
    "projector-agent": ("services.projector", "agent"),
    "projector-api": ("services.projector", "api"),
}
"""What is run by another name than its own."""


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
        _jaeger(stack),
        *_toxiproxy(stack),
        *_ours(stack),
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


def _java(stack: Stack, arguments: tuple[str, ...]) -> tuple[str, ...]:
    return (*die_with_parent("TERM"), str(stack.java.path), *stack.java.options, *arguments)


def _broker(stack: Stack) -> Program:
    log4j, conf = ROOT / "infra/kafka/log4j2.yaml", stack.layout.conf / "broker.properties"
    arguments = jvm.broker(stack.distributions.kafka_libs, log4j, conf)
    return Program("broker", _java(stack, arguments), priority=20, environment=SMALL)


def _registry(stack: Stack) -> Program:
    jar = stack.distributions.registry / "quarkus-run.jar"
    password = stack.passwords["registry_svc"]
    return Program(
        "registry",
        _java(stack, jvm.registry(stack, jar, stack.layout.run)),
        priority=30,
        environment={**SMALL, "APICURIO_DATASOURCE_PASSWORD": password},
    )


def _connect(stack: Stack) -> Program:
    log4j, conf = ROOT / "infra/connect/log4j2.yaml", stack.layout.conf / "connect.properties"
    return Program(
        "connect",
        _java(stack, jvm.connect(stack.distributions.kafka_libs, log4j, conf)),
        priority=40,
        environment={**SMALL, "SAGA_DBZ_PASSWORD": stack.passwords["debezium"]},
    )


def _python(*arguments: str) -> tuple[str, ...]:
    return (*die_with_parent("TERM"), sys.executable, "-m", *arguments)


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


def _ours(stack: Stack) -> list[Program]:
    """The processes of ours, with the settings they have everywhere."""
    settings = stack.environments()
    priorities = {"connect-guardian": 45, "payment-provider": 60, "mail-sink": 60}
    return [
        Program(
            name,
            _python(*MODULES.get(name, (f"services.{name}",))),
            priorities.get(name, 80 if name.startswith("projector") else 70),
            {**SMALL, **settings[name]},
        )
        for name in settings
    ]
