"""A projector of its own on the real stack: its own topics, group, database and agent process."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import sqlalchemy as sa
from confluent_kafka.admin import AdminClient, NewTopic
from sqlalchemy.engine import Engine

from services.eventkit.db import make_engine
from services.eventkit.migrate import migrate
from services.eventkit.positions import admin_client
from services.eventkit.rebuild.rebuilder import Rebuilder
from services.projector.group import members
from services.projector.lag import behind
from services.projector.rebuild import OrderModel
from services.projector.replay import Replayer
from services.projector.settings import TOPICS
from tests.integration.projector.traffic import Told, produce
from tests.live_stack import Ground

READY_WITHIN = 60.0  # after a kill -9, 10 s of it are the old member's session
PARTITIONS = 3

Row = tuple[Any, ...]


@dataclass
class Rig:
    """One agent process and what it writes."""

    engine: Engine
    admin: AdminClient
    bootstrap: str
    group: str
    environment: dict[str, str]
    log: Path
    port: int
    agent: "subprocess.Popen[bytes] | None" = None
    topics: list[str] = field(default_factory=list)

    def produce(self, events: Iterable[Told]) -> None:
        """Puts events on this rig's topics."""
        produce(self.bootstrap, [replace(e, topic=f"{self.group}.{e.topic}") for e in events])

    def start(self, directory: Path | None = None) -> None:
        """Starts the agent, in a working directory, and waits until it is ready."""
        command = [sys.executable, "-m", "services.projector", "agent"]
        with self.log.open("ab") as log:
            self.agent = subprocess.Popen(
                command,
                env=self.environment,
                cwd=directory,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        wait_for(self._ready, READY_WITHIN, "the agent to be ready")

    def kill(self) -> None:
        """kill -9, and nobody starts it again."""
        assert self.agent
        self.agent.kill()
        self.agent.wait(10)

    def end(self) -> tuple[int, float]:
        """SIGTERM; returns the exit code and how long it took in seconds."""
        assert self.agent
        began = time.monotonic()
        self.agent.send_signal(signal.SIGTERM)
        return self.agent.wait(10), time.monotonic() - began

    def forget_offsets(self) -> None:
        """What the broker does to a group that has been away for too long."""
        wait_for(lambda: not members(self.admin, self.group), 30, "the group to be empty")
        (forgotten,) = self.admin.delete_consumer_groups([self.group]).values()
        forgotten.result(10)

    def caught_up(self, seconds: float = 90) -> None:
        """Waits until the read model has every event of the topics."""

        def done() -> bool:
            return not any(lag.events for lag in behind(self.engine, self.admin, self.topics))

        wait_for(done, seconds, "the read model to catch up")

    def replayer(self) -> Replayer:
        """Replays of this rig's group."""
        return Replayer(self.engine, self.bootstrap, name=self.group, topics=self.topics)

    @property
    def url(self) -> str:
        """SQLAlchemy's address of its database, for the account that owns it."""
        return self.environment["SAGA_DATABASE_URL"]

    def model(self) -> OrderModel:
        """This rig's read model, as a rebuild needs it."""
        return OrderModel(self.environment["SAGA_REGISTRY_URL"], tuple(self.topics))

    def rebuilder(self, **options: Any) -> Rebuilder:
        """Rebuilds of this rig's read model."""
        return Rebuilder(self.model(), self.url, self.bootstrap, **options)

    def rows(self, query: str, **values: Any) -> list[Row]:
        """What is stored."""
        with self.engine.connect() as conn:
            return [tuple(row) for row in conn.execute(sa.text(query), values)]

    def change(self, statement: str, **values: Any) -> int:
        """Changes what is stored by hand; returns the number of rows."""
        with self.engine.begin() as conn:
            return conn.execute(sa.text(statement), values).rowcount

    def everything(self) -> tuple[list[Row], list[Row], list[Row]]:
        """Every row of the read model, in a fixed order."""
        views = self.rows("SELECT v::text FROM order_view v ORDER BY order_id")
        entries = self.rows("SELECT e::text FROM order_timeline e ORDER BY order_id, message_id")
        found = self.rows("SELECT s::text FROM order_search s ORDER BY order_id")
        return views, entries, found

    def _ready(self) -> bool:
        assert self.agent
        assert self.agent.poll() is None, self.log.read_text(errors="replace")[-3000:]
        try:
            answer = httpx.get(f"http://127.0.0.1:{self.port}/health/ready", timeout=5)
        except httpx.HTTPError:
            return False
        return answer.status_code == 200


def wait_for(condition: Callable[[], bool], seconds: float, what: str) -> None:
    """Polls until the condition holds."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, f"waited {seconds} s in vain for {what}"
        time.sleep(0.2)


@contextmanager
def rig(ground: Ground, log: Path, partitions: int = PARTITIONS) -> Iterator[Rig]:
    """A rig with empty topics and tables; all of it is gone at the end."""
    name = f"rig_{uuid4().hex[:8]}"
    with ground.admin() as admin_db:
        admin_db.execute(f"CREATE DATABASE {name}")
    url = ground.settings.database_url("postgres", name)
    migrate("projector", url)
    bootstrap = ground.env["SAGA_KAFKA_BOOTSTRAP"]
    admin = admin_client(bootstrap)
    topics = [f"{name}.{topic}" for topic in TOPICS]
    _create(admin, topics, partitions)
    port = free_port()
    environment = {
        **os.environ,
        "SAGA_DATABASE_URL": url,
        "SAGA_KAFKA_BOOTSTRAP": bootstrap,
        "SAGA_REGISTRY_URL": ground.env["SAGA_REGISTRY_URL"],
        "SAGA_HTTP_PORT": str(port),
        "SAGA_TOPICS": ",".join(topics),
        "SAGA_GROUP": name,
    }
    engine = make_engine(url, pool_size=4, name=name)
    made = Rig(engine, admin, bootstrap, name, environment, log, port, topics=topics)
    try:
        yield made
    finally:
        if made.agent and made.agent.poll() is None:
            made.kill()
        engine.dispose()
        for gone in admin.delete_topics(topics).values():
            gone.result(10)
        with ground.admin() as admin_db:
            admin_db.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _create(admin: AdminClient, topics: Sequence[str], partitions: int) -> None:
    for made in admin.create_topics([NewTopic(name, partitions, 1) for name in topics]).values():
        made.result(10)


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
