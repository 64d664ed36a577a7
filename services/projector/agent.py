"""The Faust agent: the only file that knows Faust.

Faust brings raw records; reading and projecting them is `batch`. Three habits of Faust shape this
file. A record of an agent that raises is acknowledged and lost, so nothing may leave the loop.
Its "exactly once" loses and doubles, so it is at least once, acknowledged after the commit, and
the projection does not mind repeats. Its worker opens a web server on every interface, so the app
is started here without a worker.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import faust
from faust.app import BootStrategy
from mode.utils.locks import Event

from services.eventkit.positions import Place
from services.eventkit.records import RawRecord

Write = Callable[[Sequence[RawRecord]], Awaitable[None]]

_SESSION_TIMEOUT = 10.0
_COMMIT_INTERVAL = 1.0
_NEVER = 86_400.0  # a wait for the database must not cost the agent its membership


class _Boot(BootStrategy):
    enable_kafka_producer = False
    enable_web = False


class _App(faust.App):
    BootStrategy = _Boot

    async def on_first_start(self) -> None:
        """Faust would make a directory for tables here; there are none."""


class Agent:
    """One member of the projector's consumer group, over all topics.

    ``write`` gets every record at least once, in the order of its partition; it must not raise.
    """

    def __init__(
        self,
        bootstrap: str,
        group: str,
        topics: Sequence[str],
        write: Write,
        batch_size: int,
        gather: float,
    ) -> None:
        _quieten()
        self._app = _App(
            group,
            broker=f"kafka://{bootstrap}",
            store="memory://",
            broker_session_timeout=_SESSION_TIMEOUT,
            broker_commit_interval=_COMMIT_INTERVAL,
            broker_max_poll_interval=_NEVER,
            consumer_auto_offset_reset="earliest",
            stream_wait_empty=False,
            topic_allow_declare=False,
            topic_disable_leader=True,
        )
        topic = self._app.topic(
            *topics,
            key_type=bytes,
            value_type=bytes,
            key_serializer="raw",
            value_serializer="raw",
            allow_empty=True,
        )

        async def project(stream: Any) -> None:
            async for events in stream.noack_take(batch_size, within=gather):
                await write([_record(event.message) for event in events])
                for event in events:
                    await stream.ack(event)

        self._app.agent(topic, name=group)(project)

    async def start(self) -> None:
        """Joins the group; raises where the broker does not answer."""
        await self._app.start()

    async def stop(self) -> None:
        """Commits what was acknowledged and leaves the group."""
        await self._app.stop()

    async def until_dead(self) -> str:
        """Waits until Faust has stopped or crashed by itself; returns why."""
        await self._app.wait(Event())
        return repr(self._app.crash_reason)

    @property
    def assigned(self) -> frozenset[Place]:
        """The partitions it has now."""
        if not self._app.consumer.started:
            return frozenset()
        return frozenset(
            (place.topic, place.partition) for place in self._app.consumer.assignment()
        )


class _Seldom(logging.Filter):
    """Passes one line in ten seconds: aiokafka tells of an absent broker ten times a second."""

    def __init__(self) -> None:
        super().__init__()
        self._next = float("-inf")

    def filter(self, record: logging.LogRecord) -> bool:
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + 10.0
        return True


def _quieten() -> None:
    for name in ("faust", "mode", "aiokafka", __name__):
        logging.getLogger(name).setLevel(logging.WARNING)
    for name in ("", ".cluster", ".conn", ".consumer.fetcher", ".consumer.group_coordinator"):
        logging.getLogger(f"aiokafka{name}").addFilter(_Seldom())


def _record(message: Any) -> RawRecord:
    return RawRecord(
        message.topic,
        message.partition,
        message.offset,
        message.key,
        message.value,
        list(message.headers or ()),
        message.timestamp,
        time.time(),
    )
