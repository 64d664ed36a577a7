"""Replay in place: has the live projector read a topic again, from an offset.

It restores rows that are missing and harms none: the projection keeps what is newer. Nothing else
happens, since the projector sends nothing and asks nobody. ``orderctl replay`` is its command.
"""

import os
import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

import sqlalchemy as sa
from sqlalchemy.engine import Engine
from sqlalchemy.exc import SQLAlchemyError

from services.eventkit.positions import (
    EARLIEST,
    LATEST,
    Place,
    admin_client,
    log_offsets,
    places_of,
    since,
)
from services.projector import absent, control, group
from services.projector.settings import GROUP, TOPICS
from services.projector.stored import stored_offsets
from services.projector.tables import projection_offsets

_LEASE = timedelta(seconds=20)
_POLL = 0.3


class ReplayRefused(Exception):
    """Nothing was changed; the text says why, and what to do instead."""


class ReplayFailed(Exception):
    """The replay did not get to its end; the text says how far it got and what to do."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """A partition before the replay: its log, and the next offset the read model will read."""

    topic: str
    partition: int
    log_start: int
    log_end: int
    position: int


class Start(Protocol):
    """Where a partition is to be read from again."""

    def of(self, bounds: Bounds) -> int | None:
        """The offset, or None where the partition stays put. Raises `ReplayRefused`."""


@dataclass(frozen=True, slots=True)
class FromBeginning:
    """Every partition from the first offset its log still has."""

    def of(self, bounds: Bounds) -> int | None:
        """The log's start; None where nothing of it was read yet."""
        return bounds.log_start if bounds.log_start < bounds.position else None


@dataclass(frozen=True, slots=True)
class FromOffset:
    """Every partition from the same offset; one that was not read that far stays put."""

    offset: int

    def of(self, bounds: Bounds) -> int | None:
        """The offset. Never one further on: that would skip events."""
        if self.offset < bounds.log_start:
            raise ReplayRefused(
                f"offset {self.offset} is below the start of {bounds.topic}/{bounds.partition}, "
                f"which is {bounds.log_start}; try --from-beginning"
            )
        return self.offset if self.offset < bounds.position else None


@dataclass(frozen=True, slots=True)
class FromOffsets:
    """Each partition from an offset of its own, by number; one that is not named stays put."""

    offsets: Mapping[int, int]

    def of(self, bounds: Bounds) -> int | None:
        """The offset; refused where the partition's log does not have it."""
        offset = self.offsets.get(bounds.partition)
        if offset is not None and offset > bounds.log_end:
            raise ReplayRefused(
                f"offset {offset} is above the end of {bounds.topic}/{bounds.partition}, "
                f"which is {bounds.log_end}"
            )
        return None if offset is None else FromOffset(offset).of(bounds)


@dataclass(frozen=True, slots=True)
class FromTime:
    """Every partition from what was written at a time or later; `Replayer.plan` looks it up."""

    unix_ms: int


@dataclass(frozen=True, slots=True)
class Since:
    """Where a partition was when something was written, by offset; what follows is read again."""

    offsets: Mapping[Place, int]

    def of(self, bounds: Bounds) -> int | None:
        """The offset; None where nothing was written since, or nothing of it was read yet."""
        offset = self.offsets[bounds.topic, bounds.partition]
        return offset if 0 <= offset < bounds.position else None


@dataclass(frozen=True, slots=True)
class Earlier:
    """For the sake of lost orders: from ``since``, or where the replay was to begin if earlier."""

    since: Since
    start: Start
    topics: Sequence[str]

    def of(self, bounds: Bounds) -> int | None:
        """The earlier one, or None where the partition stays put."""
        wanted = self.start.of(bounds) if bounds.topic in self.topics else None
        starts = [start for start in (wanted, self.since.of(bounds)) if start is not None]
        return min(starts, default=None)


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """One partition of a replay; ``start`` is None where it stays put."""

    bounds: Bounds
    start: int | None

    @property
    def place(self) -> Place:
        """Its topic and number."""
        return self.bounds.topic, self.bounds.partition

    @property
    def records(self) -> int:
        """How many records the projector will read, those it has not read yet included."""
        return 0 if self.start is None else self.bounds.log_end - self.start


@dataclass(frozen=True, slots=True)
class Plan:
    """What a replay would read again.

    ``lost_orders`` have no row at all: for their sake all topics are read again from when the first
    of them began.
    """

    partitions: Sequence[PartitionPlan]
    lost_orders: int = 0

    @property
    def moved(self) -> list[PartitionPlan]:
        """The partitions that are read again."""
        return [partition for partition in self.partitions if partition.start is not None]

    @property
    def unmoved(self) -> list[PartitionPlan]:
        """The partitions that stay put."""
        return [partition for partition in self.partitions if partition.start is None]

    @property
    def records(self) -> int:
        """How many records are read in all."""
        return sum(partition.records for partition in self.partitions)


@dataclass(frozen=True, slots=True)
class Progress:
    """How a replay is getting on. ``step`` is pausing, moving, replaying or done."""

    step: str
    done: int
    total: int


class Replayer:
    """Plans and runs replays of the projector.

    ``engine`` must be allowed to write the projector's database; ``name`` is its group, ``topics``
    are all that it reads. Times are in seconds: ``leave_within`` is how long the agents may take
    to leave their group, ``stalled_after`` how long nothing may move before a replay gives up.
    """

    def __init__(
        self,
        engine: Engine,
        bootstrap: str,
        *,
        name: str = GROUP,
        topics: Sequence[str] = TOPICS,
        leave_within: float = 60.0,
        stalled_after: float = 60.0,
    ) -> None:
        self._engine = engine
        self._bootstrap = bootstrap
        self._admin = admin_client(bootstrap)
        self._topics = topics
        self._group = name
        self._leave_within = leave_within
        self._stalled_after = stalled_after
        self._name = f"replay {os.getpid()} on {socket.gethostname()}"

    def plan(self, topics: Sequence[str], start: Start | FromTime) -> Plan:
        """What would be read again; raises `ReplayRefused`, or `Unreachable`.

        A topic tells only its part of an order: where the read model has lost whole orders, all
        topics are planned, from when those orders began.
        """
        if isinstance(start, FromTime):
            start = self._since(topics, start.unix_ms)
        partitions = self._partitions(topics, start)
        moved = [part for part in partitions if part.start is not None]
        if not moved:
            furthest = max(partition.bounds.position for partition in partitions)
            raise ReplayRefused(
                f"nothing to read again in {', '.join(topics)}: no partition was read past where "
                f"the replay would begin (the furthest position is {furthest})"
            )
        if self._lost(moved) is None:
            return Plan(partitions)
        lost = self._lost(self._partitions(self._topics, FromBeginning()))
        if lost is None:  # they have come meanwhile
            return Plan(partitions)
        start = Earlier(self._since(self._topics, lost.since_ms), start, topics)
        return Plan(self._partitions(self._topics, start), lost.orders)

    def _lost(self, partitions: Iterable[PartitionPlan]) -> absent.Absent | None:
        ranges = {
            part.place: range(part.start, min(part.bounds.position, part.bounds.log_end))
            for part in partitions
            if part.start is not None
        }
        return absent.find(self._bootstrap, self._engine, ranges)

    def _since(self, topics: Sequence[str], unix_ms: int) -> Since:
        return Since(log_offsets(self._admin, places_of(self._admin, topics), since(unix_ms)))

    def _partitions(self, topics: Sequence[str], start: Start) -> list[PartitionPlan]:
        places = places_of(self._admin, topics)
        first = log_offsets(self._admin, places, EARLIEST)
        end = log_offsets(self._admin, places, LATEST)
        stored = stored_offsets(self._engine)
        partitions = []
        for place in places:
            bounds = Bounds(*place, first[place], end[place], stored.get(place, first[place]))
            partitions.append(PartitionPlan(bounds, start.of(bounds)))
        return partitions

    def run(self, plan: Plan, progress: Callable[[Progress], None]) -> None:
        """Pauses the projector, moves it back, lets it go on, and waits until it is there again.

        Raises `ReplayRefused` before and `ReplayFailed` after something was changed.
        """
        total = plan.records
        progress(Progress("pausing", 0, total))
        if not control.take(self._engine, self._name, _LEASE):
            raise ReplayRefused("another replay is running; wait for its end")
        try:
            self._move(plan, lambda step: progress(Progress(step, 0, total)))
        finally:
            with suppress(SQLAlchemyError):  # the lease ends by itself
                control.release(self._engine, self._name)
        self._wait(plan, progress)
        progress(Progress("done", total, total))

    def _move(self, plan: Plan, step: Callable[[str], None]) -> None:
        targets = {part.place: part.start for part in plan.moved if part.start is not None}
        deadline = time.monotonic() + self._leave_within
        while True:
            if not control.take(self._engine, self._name, _LEASE):
                raise ReplayFailed("the pause was lost to another replay; nothing was moved")
            members = group.members(self._admin, self._group)
            if not members:
                step("moving")
                refused = group.move(self._admin, self._group, targets)
                if not refused:
                    break
                # An agent joined in between; it is about to see the pause and leave.
                members = sorted(set(refused.values()))
            if time.monotonic() > deadline:
                raise ReplayFailed(
                    f"group {self._group} was not left within {self._leave_within:.0f} s "
                    f"({'; '.join(members)}); the projector goes on from where it was"
                )
            time.sleep(_POLL)
        self._store(targets)

    def _store(self, targets: dict[Place, int]) -> None:
        """The stored offsets say how far the replay is, so they go back as well."""
        table = projection_offsets
        place = sa.and_(table.c.topic == sa.bindparam("t"), table.c.partition == sa.bindparam("p"))
        rows = [{"t": topic, "p": number, "o": start} for (topic, number), start in targets.items()]
        with self._engine.begin() as conn:
            conn.execute(sa.update(table).where(place).values(next_offset=sa.bindparam("o")), rows)

    def _wait(self, plan: Plan, progress: Callable[[Progress], None]) -> None:
        """Waits until all is read that was there when the replay was planned."""
        done = 0
        moved_at = time.monotonic()
        while done < plan.records:
            time.sleep(_POLL)
            now = self._done(plan)
            if now > done:
                done, moved_at = now, time.monotonic()
            elif time.monotonic() - moved_at > self._stalled_after:
                raise ReplayFailed(
                    f"{done} of {plan.records} records were read, then nothing for "
                    f"{self._stalled_after:.0f} s; is the projector's agent running?"
                )
            progress(Progress("replaying", done, plan.records))

    def _done(self, plan: Plan) -> int:
        stored = stored_offsets(self._engine)
        return sum(
            min(stored[part.place], part.bounds.log_end) - part.start
            for part in plan.moved
            if part.start is not None
        )
