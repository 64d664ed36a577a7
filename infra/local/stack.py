"""One embedded stack: its folders, ports, passwords and programs' whereabouts."""

import os
from dataclasses import dataclass
from pathlib import Path

from infra.local import fetch, java, passwords
from infra.local.java import Java
from infra.local.layout import Layout
from infra.local.ports import Ports
from infra.local.postgres_home import PostgresHome
from infra.toxiproxy.binary import TOXIPROXY
from infra.toxiproxy.proxies import FRONTS
from infra.wiring import Wiring

# These say where a stack is, not how its services behave: each stack sets its own.
NOT_INHERITED = (
    "SAGA_STATE_DIR", "SAGA_CACHE_DIR", "SAGA_ENV_FILE", "SAGA_SETTINGS_FILE", "SAGA_PROXIED"
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack(Wiring):
    """All that is decided before a process starts. Building one starts nothing."""

    layout: Layout
    java: Java
    distributions: fetch.Distributions
    postgres: PostgresHome
    toxiproxy: Path | None = None
    """Where it is set, the processes of the stack reach each other through it."""

    def jaeger_environment(self) -> dict[str, str]:
        """What the program that finds, builds and runs Jaeger needs."""
        return {
            "SAGA_CACHE_DIR": str(self.layout.cache),
            "SAGA_JAEGER_CONFIG": str(self.layout.conf / "jaeger.yaml"),
            # Collects garbage sooner: all it holds is the last traces.
            "GOGC": "50",
            "JAEGER_BIN": os.environ.get("JAEGER_BIN", ""),
        }


def prepare(where: Layout, ports: Ports, report: fetch.Report) -> Stack:
    """Everything a start needs that is not a process: a Java runtime, downloads, passwords.

    With SAGA_PROXIED=1 the stack's own connections go through Toxiproxy. Raises StackError when
    this machine does not allow it.
    """
    java.check_platform()
    toxiproxy = _toxiproxy(where, report) if os.environ.get("SAGA_PROXIED") == "1" else None
    return Stack(
        layout=where,
        data=where.data,
        keys_file=where.api_keys,
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
        fronts=FRONTS if toxiproxy else {},
        toxiproxy=toxiproxy,
    )


def _toxiproxy(where: Layout, report: fetch.Report) -> Path:
    report("toxiproxy (built once: a minute or two)")
    return TOXIPROXY.find_or_build(where.cache)
