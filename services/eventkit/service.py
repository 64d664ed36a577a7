"""A service as a process: its roles (api, consumer, worker) run together or each alone."""

import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar
from uuid import UUID

import sqlalchemy as sa
import uvicorn
from fastapi import APIRouter
from sqlalchemy.engine import Connection
from tenacity import retry, retry_if_exception_type, wait_random_exponential

from services.eventkit import engine as engine_module
from services.eventkit import logs, operations, orphans, relay, retention, tracing
from services.eventkit.access import Access
from services.eventkit.backlog import Backlog
from services.eventkit.batch import BatchHandler
from services.eventkit.codec import Codec, SchemaMismatch
from services.eventkit.consumer import BatchConsumer
from services.eventkit.db import make_engine
from services.eventkit.decision import Decision, Event, Handlers
from services.eventkit.engine import Done, Engine, Failed, Measure, Step, Store
from services.eventkit.http import Check, create_app
from services.eventkit.jobs import JobKind
from services.eventkit.keyfile import KeyFile
from services.eventkit.registry import RegistryUnavailable
from services.eventkit.schemas import Schemas
from services.eventkit.settings import ServiceSettings, load
from services.eventkit.upkeep import Chore, Upkeep
from services.eventkit.worker import Worker

LOG = logs.logger("service")
_STALLED_AFTER = 30.0
_ENDS_AFTER = 90.0
_LOOK_EVERY = 5.0
_OPEN_FILES = 8192

S = TypeVar("S")
SettingsT = TypeVar("SettingsT", bound=ServiceSettings)


@dataclass(frozen=True)
class Service(Generic[S, SettingsT]):
    """What makes one service: its name, its rules, its SQL, its outside calls and its API.

    ``large_bodies`` are paths whose requests may be larger than others, with their bytes.
    """

    name: str
    settings: type[SettingsT]
    handlers: Handlers[S]
    store: Store[S]
    routes: "Callable[[Runtime[S, SettingsT]], APIRouter]"
    jobs: Callable[[SettingsT], Sequence[JobKind]] = lambda _: ()
    chores: "Callable[[Runtime[S, SettingsT]], Sequence[Chore]]" = lambda _: ()
    large_bodies: Callable[[SettingsT], Mapping[str, int]] = lambda _: {}
    measure: Measure[S] = lambda _, __: None

    @property
    def topics(self) -> list[str]:
        """The topics it subscribes to: those its handler table names."""
        return sorted({on.source for on in self.handlers.values()} - {"api", "job"})


@dataclass
class Runtime(Generic[S, SettingsT]):
    """A running service: what its API routes work with."""

    service: Service[S, SettingsT]
    settings: SettingsT
    db: sa.Engine
    engine: Engine[S]
    wake_worker: threading.Event = field(default_factory=threading.Event)
    access: Access = field(default_factory=lambda: Access(KeyFile(None), "demo"))
    stopping: Callable[[], bool] = lambda: False

    def is_stopping(self) -> bool:
        """True once the process has been told to stop: whoever waits for long lets go."""
        return self.stopping()

    def command(self, conn: Connection, event: Event) -> Decision[S]:
        """Runs an API command through the rules, in the caller's transaction.

        The same locks and the same path as a consumed event. Call `committed` afterwards.
        """
        engine_module.lock_keys(conn, [event.key])
        spans = tracing.SpanBatch()
        step = Step(event, None, tracing.current())
        (outcome,) = self.engine.execute(conn, [step], datetime.now(UTC), spans)
        if isinstance(outcome, Failed):
            raise outcome.error
        if not isinstance(outcome, Done):
            raise TypeError(f"a command cannot be {outcome}")
        spans.finish()
        self.engine.count([outcome])
        return outcome.decision

    def committed(self, decision: Decision[S]) -> None:
        """Tells the worker of new jobs once the command's transaction has committed."""
        if decision.jobs:
            self.wake_worker.set()


def api_event(
    type_: str, key: str, data: dict[str, Any], tenant_id: str, actor_id: str, request_id: UUID
) -> Event:
    """An API command as the rules see it; the request's id is its message and correlation id."""
    return Event(
        id=request_id,
        type=type_,
        key=key,
        data=data,
        tenant_id=tenant_id,
        actor_id=actor_id,
        correlation_id=str(request_id),
        time=datetime.now(UTC),
        source="api",
    )


def main(service: Service[Any, Any]) -> None:
    """Runs a service until SIGTERM; ends with code 1 where a part of it fails for good."""
    settings = load(service.settings)
    logs.setup(service.name, settings.log_format, settings.log_level)
    tracing.setup(service.name, settings.otlp_endpoint, settings.trace_share)
    _allow_many_connections()
    try:
        _Process(service, settings).run()
    finally:
        tracing.shutdown()


def _allow_many_connections() -> None:
    """As many open files as the machine lets us have: each waiting client is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class _Process:
    """The threads of one service process, and the HTTP server that answers for their health."""

    def __init__(self, service: Service[Any, Any], settings: ServiceSettings) -> None:
        self.service = service
        self.settings = settings
        self.stop = threading.Event()
        self.failed = False
        self.codec = Codec(Schemas.load(), settings.registry_url)
        self.db = make_engine(settings.database_url, name=service.name)
        topic = f"{service.name}.events"
        engine = Engine(
            service.name, service.handlers, service.store, self.codec, topic, service.measure
        )
        self.runtime: Runtime[Any, Any] = Runtime(
            service, settings, self.db, engine, access=Access.of(settings)
        )
        self.parts: dict[str, threading.Thread] = {}
        self.checks: dict[str, Check] = {"database": self._database}
        self.loops: dict[str, Callable[[], float]] = {}
        self.started = False

    def run(self) -> None:
        with_api = "api" in self.settings.roles
        own = [self.service.routes(self.runtime)] if with_api else []
        routers = [*own, operations.routes(self.db, self.runtime.engine)]
        self.checks["start"] = lambda: None if self.started else "still waiting for the registry"
        app = create_app(
            f"{self.service.name} service",
            routers,
            self.checks,
            access=self.runtime.access,
            max_body=self.settings.max_body,
            large_bodies=self.service.large_bodies(self.settings),
        )
        config = uvicorn.Config(
            app,
            host=self.settings.http_host,
            port=self.settings.http_port,
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=5,
        )
        self.server = uvicorn.Server(config)
        self.runtime.stopping = lambda: self.server.should_exit
        # uvicorn raises the signal again when it has stopped; the other parts still have to.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        self._spawn("start", self._start)
        self.server.run()
        self.stop.set()
        self._join()
        self.db.dispose()
        LOG.info("stopped", clean=not self.failed)
        if self.failed:
            os._exit(1)

    def _start(self) -> None:
        """Checks the schemas, then starts the consumer and the worker."""
        try:
            self._check_schemas()
        except SchemaMismatch as error:
            LOG.error("refused to start", error=str(error))
            raise
        if self.stop.is_set():
            return
        if "worker" in self.settings.roles:
            self._start_worker()
            self._start_upkeep()
        if "consumer" in self.settings.roles:
            self._start_consumer()
        self._spawn("watchdog", self._watch)
        self.started = True
        LOG.info("started", roles=list(self.settings.roles), topics=self.service.topics)

    @retry(
        retry=retry_if_exception_type(RegistryUnavailable),
        wait=wait_random_exponential(multiplier=0.3, max=5),
    )
    def _check_schemas(self) -> None:
        if not self.stop.is_set():
            self.codec.start()

    def _start_consumer(self) -> None:
        handler = BatchHandler(self.db, self.runtime.engine, self.service.name)
        consumer = BatchConsumer(
            self.settings.kafka_bootstrap,
            self.service.name,
            self.service.topics,
            handler,
            self.runtime.wake_worker,
            self.settings.batch_size,
            self.settings.gather,
        )
        self.checks["consumer"] = lambda: consumer.problem() or _stalled(consumer.ticked)
        self.loops["consumer"] = lambda: consumer.ticked
        self._spawn("consumer", lambda: consumer.run(self.stop))

    def _start_worker(self) -> None:
        kinds = self.service.jobs(self.settings)
        if not kinds:
            return
        worker = Worker(
            self.db,
            self.runtime.engine,
            kinds,
            self.settings.job_poll,
            wake=self.runtime.wake_worker,
        )
        self.checks["worker"] = lambda: _stalled(worker.ticked)
        self.loops["worker"] = lambda: worker.ticked
        self._spawn("worker", lambda: worker.run(self.stop))

    def _start_upkeep(self) -> None:
        name, settings = self.service.name, self.settings
        kinds = [kind.name for kind in self.service.jobs(settings)]
        keep, often = timedelta(seconds=settings.retention), min(600.0, settings.retention / 10)
        chores = (
            Chore("free_orphans", _LOOK_EVERY, lambda: orphans.free(self.db)),
            Chore("watch_relay", settings.relay_look, relay.Watch(self.db, name).look),
            Chore("count_backlog", settings.relay_look, Backlog(self.db, kinds).look),
            Chore("prune_inbox", often, lambda: retention.prune_inbox(self.db, keep)),
            Chore("prune_outbox", often, lambda: retention.prune_outbox(self.db, name, keep)),
            *self.service.chores(self.runtime),
        )
        self._spawn("upkeep", lambda: Upkeep(chores).run(self.stop))

    def _watch(self) -> None:
        """Ends the process where a loop hangs, in a library or on a socket: a new one is started.

        A loop is asked twice, since a process that was paused as a whole has not hung.
        """
        hanging: set[str] = set()
        while not self.stop.wait(_LOOK_EVERY):
            idle = {name: time.monotonic() - ticked() for name, ticked in self.loops.items()}
            found = {name for name, seconds in idle.items() if seconds > _ENDS_AFTER}
            if hanging & found:
                LOG.error("a loop hangs, ending the process", parts=sorted(hanging & found))
                os._exit(1)
            hanging = found

    def _spawn(self, name: str, target: Callable[[], None]) -> None:
        def guarded() -> None:
            try:
                target()
            except BaseException as error:
                # A part that is gone must not leave a process that looks alive.
                LOG.error("part failed, stopping", part=name, exc_info=error)
                self.failed = True
                self.server.should_exit = True

        thread = threading.Thread(target=guarded, name=name, daemon=True)
        self.parts[name] = thread
        thread.start()

    def _join(self) -> None:
        self.runtime.wake_worker.set()
        deadline = time.monotonic() + self.settings.stop_grace
        for name, thread in list(self.parts.items()):
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive():
                LOG.warning("part did not stop in time", part=name)

    def _database(self) -> str | None:
        try:
            with self.db.connect() as conn:
                conn.execute(sa.text("SELECT 1"))
        except sa.exc.SQLAlchemyError as error:
            return str(error).splitlines()[0]
        return None


def _stalled(ticked: float) -> str | None:
    idle = time.monotonic() - ticked
    return f"no turn for {idle:.0f} s" if idle > _STALLED_AFTER else None
