"""The parts of a start and what each waits for. Every part may be run again and changes nothing."""

from collections.abc import Callable
from functools import partial

from infra.connect import connectors
from infra.jaeger import binary
from infra.kafka import topics
from infra.local import broker, postgres, ready
from infra.local.errors import StackError
from infra.local.parts import Part
from infra.local.ready import Check
from infra.local.stack import Stack
from infra.local.supervisor import RecentStates, Supervisor
from infra.local.waiting import until
from infra.names import EMITTERS, SERVICES, database, role
from infra.registry import provision

# Generous: a first start on a small machine shares its cores with the build of Jaeger. A process
# that keeps ending is noticed long before.
PATIENCE_SECONDS = 300
STARTS_BEFORE_GIVING_UP = 4
FAKES = ("payment-provider", "mail-sink")
AGENT = "projector-agent"
REBUILD = "orderctl replay --shadow"
"""What the agent asks for where its read model is of an older version."""
Say = Callable[[str, str], None]


class Starter:
    """Knows how each part of one stack is brought up."""

    def __init__(self, stack: Stack, supervisor: Supervisor, say: Say) -> None:
        self._stack = stack
        self._supervisor = supervisor
        self._say = say
        self._recent = RecentStates(supervisor)
        self._checks = ready.bare_checks(stack)

    def parts(self, services: bool = True) -> list[Part]:
        """All parts; without ``services`` only what they stand on."""
        return self._ground() + (self._services() if services else [])

    def _ground(self) -> list[Part]:
        return [
            *(Part(name, partial(self._process, name)) for name in self._through()),
            Part("postgres", self._postgres),
            Part("broker", self._broker),
            Part("jaeger", self._jaeger),
            *(Part(name, partial(self._process, name)) for name in FAKES),
            Part("databases", self._databases, ("postgres",)),
            Part("migrations", self._migrations, ("databases",)),
            Part("registry", partial(self._process, "registry"), self._through("databases")),
            Part("schemas", self._schemas, ("registry",)),
            Part("topics", self._topics, ("broker",)),
            Part("connect", partial(self._process, "connect"), self._through("broker")),
            Part("connect-guardian", partial(self._process, "connect-guardian")),
            Part("connectors", self._connectors, ("connect", "topics", "migrations")),
        ]

    def _services(self) -> list[Part]:
        needs = self._through("migrations", "topics", "schemas")
        names = (*EMITTERS, "projector-api")
        parts = [Part(name, partial(self._process, name), needs) for name in names]
        return [*parts, Part(AGENT, self._agent, needs)]

    def _through(self, *needs: str) -> tuple[str, ...]:
        """What a part needs, and what its connections go through."""
        return (*needs, "toxiproxy") if self._stack.toxiproxy else needs

    def _process(self, name: str) -> str:
        self._supervisor.start(name)
        self._wait(name, self._checks[name])
        return "ready"

    def _agent(self) -> str:
        check = self._checks[AGENT]

        def ready_or_asking() -> str:
            why = check()
            return "" if REBUILD in why else why

        self._supervisor.start(AGENT)
        self._wait(AGENT, ready_or_asking)
        return f"waits: the read model is of another version; {REBUILD}" if check() else "ready"

    def _wait(self, name: str, check: Check) -> None:
        starts: set[int] = set()

        def is_ready() -> bool:
            why = check()
            self._say(name, why)
            if why:
                starts.add(self._recent.states()[name].since)
            if len(starts) > STARTS_BEFORE_GIVING_UP:
                raise StackError(f"{name} keeps ending", _read_log(name))
            return not why

        try:
            until(is_ready, PATIENCE_SECONDS, f"{name} to be ready")
        except StackError as error:
            raise StackError(f"{error.problem}: {check()}", _read_log(name)) from error

    def _postgres(self) -> str:
        postgres.prepare(self._stack)
        return self._process("postgres")

    def _broker(self) -> str:
        broker.format_once(self._stack)
        return self._process("broker")

    def _jaeger(self) -> str:
        self._supervisor.start("jaeger")
        return binary.status(self._stack.layout.cache) or "started"

    def _databases(self) -> str:
        postgres.ensure_databases(self._stack)
        return f"{len(SERVICES)} services, each with its own"

    def _migrations(self) -> str:
        from services.eventkit.migrate import migrate

        for service in SERVICES:
            self._say("migrations", service)
            migrate(service, self._stack.database_url(role(service), database(service)))
        return "up to date"

    def _topics(self) -> str:
        return topics.ensure(self._stack.address("kafka"))

    def _schemas(self) -> str:
        return provision.ensure(self._stack.registry_url)

    def _connectors(self) -> str:
        return connectors.ensure(
            self._stack.url("connect"),
            *self._stack.inside_host_and_port("postgres"),
            self._stack.slots_url,
        )


def _read_log(name: str) -> str:
    return f"Read its log: make logs NAME={name}"
