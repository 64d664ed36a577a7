"""The agent's process: waits for what it needs, runs the agent, and ends as it should.

It ends with 0 on SIGTERM, with an error where Faust died or got stuck, so that the supervisor
starts it anew. While it must not write (`control`) it leaves the group and waits.
"""

import asyncio
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from enum import Enum
from typing import Any

import uvicorn

from services.eventkit import logs, metrics, positions, tracing, trouble
from services.eventkit.backlog import count_letters
from services.eventkit.codec import Codec, SchemaMismatch
from services.eventkit.db import make_engine
from services.eventkit.http import create_app
from services.eventkit.records import RawRecord
from services.eventkit.schemas import Schemas
from services.eventkit.settings import load
from services.eventkit.trouble import INFRASTRUCTURE
from services.eventkit.upkeep import Chore, Upkeep
from services.projector import control, lag
from services.projector.agent import Agent
from services.projector.batch import BatchProjector
from services.projector.settings import AgentSettings
from services.projector.watchdog import Vitals, Watchdog

_LOG = logs.logger("projector")
_STOP_WITHIN = 6.0
_LOOK_EVERY = 1.0
_COUNT_EVERY = 5.0
_NOT_NOW = (*INFRASTRUCTURE, positions.Unreachable, control.Paused)


class Ending(Enum):
    """Why the agent ended."""

    STOPPED = "stopped"
    PAUSED = "paused"
    FAILED = "failed"


def main() -> int:
    """Runs until SIGTERM or a failure; the exit code is 0 or 1. A pause starts it over."""
    settings = load(AgentSettings)
    logs.setup("projector", settings.log_format, settings.log_level)
    tracing.setup("projector", settings.otlp_endpoint, settings.trace_share)
    ending = asyncio.new_event_loop().run_until_complete(_Process(settings).run())
    _LOG.info("ended", ending=ending.value)
    _flush()
    if ending is Ending.PAUSED:
        # Faust does not start twice in one process; this keeps the process id.
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606
    # A batch may still wait for the database in its thread; it commits or not, both are right.
    os._exit(0 if ending is Ending.STOPPED else 1)


class _Process:
    def __init__(self, settings: AgentSettings) -> None:
        self._settings = settings
        self._engine = make_engine(settings.database_url, pool_size=4, name="projector")
        self._codec = Codec(Schemas.load(), settings.registry_url)
        self._projector = BatchProjector(self._engine, self._codec, settings.group)
        self._admin = positions.admin_client(settings.kafka_bootstrap)
        self._vitals = Vitals()
        self._stop = asyncio.Event()
        self._paused = asyncio.Event()

    async def run(self) -> Ending:
        """Prepares, projects until something ends it, leaves the group."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        self._serve_health()
        stopped = loop.create_task(self._stop.wait())
        prepared = loop.create_task(self._prepare())
        await _first(stopped, prepared)
        if not prepared.done():
            return Ending.STOPPED
        try:
            prepared.result()
        except SchemaMismatch as error:
            _LOG.error("refused to start", error=str(error))
            return Ending.FAILED
        return await self._project(stopped)

    async def _prepare(self) -> None:
        """Waits for the database, the end of a pause, the registry and the broker."""
        while True:
            try:
                await asyncio.to_thread(self._check)
                return
            except _NOT_NOW as error:
                if (what := logs.short(error)) != self._vitals.waiting:
                    _LOG.info("waiting", what=what)
                self._vitals.waiting = what
                await asyncio.sleep(_LOOK_EVERY)

    def _check(self) -> None:
        control.check(self._engine)
        self._codec.start()
        positions.places_of(self._admin, self._settings.topics)

    async def _project(self, stopped: "asyncio.Task[Any]") -> Ending:
        settings = self._settings
        agent = Agent(
            settings.kafka_bootstrap,
            settings.group,
            settings.topics,
            self._write,
            settings.batch_size,
            settings.gather,
        )
        loop = asyncio.get_running_loop()
        started = loop.create_task(agent.start())
        await _first(stopped, started)
        if not started.done():
            ending = Ending.STOPPED
        elif started.exception():
            _LOG.error("the agent could not start", error=repr(started.exception()))
            ending = Ending.FAILED
        else:
            ending = await self._until_ended(agent, stopped)
        self._vitals.waiting = ending.value
        # Not wait_for: it would wait on where Faust does not take a cancellation.
        await asyncio.wait([loop.create_task(agent.stop())], timeout=_STOP_WITHIN)
        return ending

    async def _until_ended(self, agent: Agent, stopped: "asyncio.Task[Any]") -> Ending:
        loop = asyncio.get_running_loop()
        self._vitals.waiting = None
        Watchdog(self._vitals, self._behind, self._settings.stalled_after).start()
        upkeep = Upkeep([Chore("count_letters", _COUNT_EVERY, lambda: count_letters(self._engine))])
        threading.Thread(target=upkeep.run, args=[threading.Event()], daemon=True).start()
        looking = loop.create_task(self._look(agent))
        dead = loop.create_task(agent.until_dead())
        _LOG.info("started", topics=list(self._settings.topics))
        await _first(stopped, looking, dead)
        if stopped.done():
            return Ending.STOPPED
        if dead.done():
            _LOG.error("the agent died", reason=dead.result())
            return Ending.FAILED
        return Ending.PAUSED

    async def _look(self, agent: Agent) -> None:
        """Tells the watchdog how things are; returns when it must not write now."""
        while not self._paused.is_set():
            self._vitals.beat = time.monotonic()
            self._vitals.assigned = agent.assigned
            try:
                await asyncio.to_thread(control.check, self._engine)
            except control.Paused:
                return
            except INFRASTRUCTURE:
                pass
            with suppress(TimeoutError):
                await asyncio.wait_for(self._paused.wait(), _LOOK_EVERY)

    async def _write(self, records: Sequence[RawRecord]) -> None:
        """Projects a batch; where infrastructure is away, tries again for ever."""
        attempt = 0
        while True:
            try:
                await asyncio.to_thread(self._projector.handle, records)
            except control.Paused:
                self._paused.set()
                await asyncio.Event().wait()  # until the agent is stopped; nothing is acknowledged
            except INFRASTRUCTURE as error:
                attempt += 1
                await self._back_off(attempt, error)
            else:
                self._vitals.waiting = None
                self._vitals.progress = time.monotonic()
                return

    async def _back_off(self, attempt: int, error: Exception) -> None:
        delay = random.uniform(0.1, min(5.0, 0.2 * 2 ** min(attempt, 10)))
        self._vitals.waiting = logs.short(error)
        metrics.RETRIES.labels("projector").inc()
        trouble.tell(_LOG, error, "the batch waits", attempt=attempt)
        await asyncio.sleep(delay)

    def _behind(self) -> Sequence[lag.PartitionLag]:
        return lag.behind(self._engine, self._admin, self._settings.topics)

    def _serve_health(self) -> None:
        def working() -> str | None:
            idle = time.monotonic() - self._vitals.beat
            if not self._vitals.waiting and idle > self._settings.stalled_after:
                return f"no turn for {idle:.0f} s"
            return self._vitals.waiting or (
                None if self._vitals.assigned else "no partition assigned yet"
            )

        app = create_app("projector agent", [], {"agent": working})
        config = uvicorn.Config(
            app,
            host=self._settings.http_host,
            port=self._settings.http_port,
            log_config=None,
            access_log=False,
        )
        server = uvicorn.Server(config)
        threading.Thread(target=server.run, name="health", daemon=True).start()


async def _first(*tasks: "asyncio.Task[Any]") -> None:
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)


def _flush() -> None:
    """Exports the last spans, but waits no longer for them than two seconds."""
    exporting = threading.Thread(target=tracing.shutdown, daemon=True)
    exporting.start()
    exporting.join(2.0)
    sys.stdout.flush()
