"""A rebuild from its beginning to the swap; also the way back, and cleaning up."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import islice

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from services.eventkit import db
from services.eventkit.positions import (
    EARLIEST,
    LATEST,
    Place,
    admin_client,
    log_offsets,
    places_of,
)
from services.eventkit.rebuild import bulk, feed, generations, processes
from services.eventkit.rebuild.compare import Comparison, compare
from services.eventkit.rebuild.generations import COPYING, KEPT, READY, Generation, Reach
from services.eventkit.rebuild.model import ReadModel, RebuildFailed, RebuildRefused
from services.eventkit.rebuild.tables import paused, projection_state
from services.eventkit.records import RawRecord, next_offsets

_ONE_AT_A_TIME = 7_201_116  # any number, as long as every rebuild takes the same one
_POLL = 0.3
_BATCH = 500
_INDEXED_AT_ONCE = 2
_NEAR = 500
_BROKER_WITHIN = 30.0
_LOCK_NOT_AVAILABLE, _DEADLOCK = "55P03", "40P01"


@dataclass(frozen=True, slots=True)
class Progress:
    """How a rebuild is getting on: its step, and events done of those to do in this step."""

    step: str
    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class Report:
    """What a rebuild came to; ``swapped`` is False where it was not to be, or differences were.

    ``stopped`` is for how many seconds the live model took nothing in. ``agreed`` is whether a swap
    changes no row, or means to: another version is to give other rows.
    """

    generation: Generation
    live: Generation
    events: int
    comparison: Comparison
    swapped: bool
    stopped: float = 0.0

    @property
    def agreed(self) -> bool:
        return not self.comparison.differing or self.live.version != self.generation.version


class _Wait(Exception):
    """The swap cannot be now; the text says why."""


class Rebuilder:
    """Rebuilds of one read model. ``url`` must be the account that owns its tables.

    Every call takes an exclusive right to rebuild, and ends what an earlier one, which was killed,
    has left running. ``chunk`` is how many records a process folds at a time, ``patience`` how many
    seconds a swap may wait for its moment.
    """

    def __init__(
        self,
        model: ReadModel,
        url: str,
        bootstrap: str,
        *,
        processes: int = 0,
        chunk: int = bulk.CHUNK,
        patience: float = 60.0,
        progress: Callable[[Progress], None] = lambda _: None,
    ) -> None:
        self._model = model
        self._url = url
        self._bootstrap = bootstrap
        self._processes = processes or os.cpu_count() or 1
        self._chunk = chunk
        self._patience = patience
        self._progress = progress
        self._engine = db.make_engine(url, pool_size=4, name=self._name)

    @property
    def _name(self) -> str:
        return f"rebuild-{self._model.name}"

    def rebuild(self, *, swap: bool = True, accept: bool = False) -> Report:
        """Builds a generation, or goes on with the one that an earlier run left, and swaps it in.

        Differences block the swap while the version is the same, unless they are accepted.
        Raises `RebuildRefused`, `RebuildFailed` or `Unreachable`.
        """
        with self._alone():
            generation = self._resumed() or self._begun()
            if generation.status == COPYING:
                generation = self._build(generation)
            self._catch_up(generation)
            compared = self._patiently("comparing", lambda: self._compared(generation))
            if not swap or not (accept or compared.agreed):
                return compared
            self._catch_up(generation)
            return self._patiently("swapping", lambda: self._swapped(generation, compared))

    def rollback(self) -> Report:
        """Makes the kept generation the current one again, with all events since the swap."""
        with self._alone():
            with self._engine.begin() as conn:
                generation = generations.find(conn, KEPT)
                fits = generation and generations.fits(conn, self._model, generation)
            if generation is None:
                raise RebuildRefused("no generation was kept: there is nothing to go back to")
            if generation.version != self._model.version:
                raise RebuildRefused(
                    f"generation {generation.number} is of version {generation.version}, this "
                    f"code writes version {self._model.version}: go back with the release of then"
                )
            if not fits:
                raise RebuildRefused(
                    f"generation {generation.number} is from before a migration of its tables: "
                    "build it anew with --shadow"
                )
            self._catch_up(generation)
            return self._patiently("swapping", lambda: self._swapped(generation, None))

    def drop(self) -> list[Generation]:
        """Removes every generation but the current one; returns them."""
        with self._alone(), self._engine.begin() as conn:
            gone = [g for g in generations.everyone(conn) if g.schema != "public"]
            for generation in gone:
                generations.drop(conn, generation)
            return gone

    def known(self) -> list[Generation]:
        """All generations that there are."""
        with self._engine.connect() as conn:
            return generations.everyone(conn)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """An exclusive right, in which all other connections of this name are somebody else's."""
        self._engine.dispose()
        try:
            with self._locked():
                yield
        finally:
            self._engine.dispose()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._engine.connect() as conn:
            conn.execution_options(isolation_level="AUTOCOMMIT")
            taken = sa.select(sa.func.pg_try_advisory_lock(_ONE_AT_A_TIME))
            if not conn.execute(taken).scalar_one():
                raise RebuildRefused("another rebuild is running; wait for its end")
            try:
                self._end_leftovers(conn)
                yield
            finally:
                with suppress(SQLAlchemyError):  # the right ends with its connection
                    conn.execute(sa.select(sa.func.pg_advisory_unlock(_ONE_AT_A_TIME)))

    def _end_leftovers(self, conn: Connection) -> None:
        """Connections of a rebuild that was killed: their transactions must not commit any more."""
        others = sa.text(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE application_name = :name AND usename = current_user"
            " AND datname = current_database() AND pid <> pg_backend_pid()"
        )
        until = time.monotonic() + self._patience
        while conn.execute(others, {"name": self._name}).scalar_one():
            if time.monotonic() > until:
                raise RebuildRefused("what an earlier rebuild left running does not end")
            time.sleep(_POLL)

    def _resumed(self) -> Generation | None:
        """What an earlier run left, unless it is of other code or of other tables."""
        with self._engine.begin() as conn:
            found = generations.find(conn, COPYING, READY)
            if found is None:
                return None
            ours = found.version == self._model.version
            if ours and generations.fits(conn, self._model, found):
                return found
            generations.drop(conn, found)
            return None

    def _begun(self) -> Generation:
        admin = admin_client(self._bootstrap)
        places = places_of(admin, self._model.topics, _BROKER_WITHIN)
        log = self._log_of(places)
        with self._engine.begin() as conn:
            live = self._model.positions(conn)
            ranges = {
                place: range(there.start, max(there.start, live.get(place, there.start)))
                for place, there in log.items()
            }
            _check_log(log, ranges)
            return generations.begin(conn, self._model, ranges)

    def _build(self, generation: Generation) -> Generation:
        reach = self._reach(generation)
        total = sum(part.target - part.first for part in reach.values())
        left = {place: range(part.next, part.target) for place, part in reach.items()}
        _check_log(self._log_of(left), left)
        self._progress(Progress("copying", total - sum(map(len, left.values())), total))
        if sum(map(len, left.values())) > self._chunk:
            self._run_workers(generation, left, total)
        else:  # not worth a process
            bulk.copy(self._engine, self._model, self._bootstrap, generation, left, self._chunk)
            self._progress(Progress("copying", total, total))
        self._progress(Progress("indexing", total, total))
        first, *others = self._model.tables
        self._index(generation, first)
        with ThreadPoolExecutor(_INDEXED_AT_ONCE) as pool:
            steps = [pool.submit(self._index_and_analyze, generation, one) for one in others]
            steps.append(pool.submit(self._analyze, generation, first))
        for step in steps:
            step.result()
        with self._engine.begin() as conn:
            generations.set_status(conn, generation, READY)
            ready = generations.find(conn, READY)
        assert ready is not None
        return ready

    def _index_and_analyze(self, generation: Generation, table: sa.Table) -> None:
        self._index(generation, table)
        self._analyze(generation, table)

    def _index(self, generation: Generation, table: sa.Table) -> None:
        with self._engine.begin() as conn:
            generations.index(conn, self._model, generation, table)

    def _analyze(self, generation: Generation, table: sa.Table) -> None:
        with self._engine.begin() as conn:
            generations.analyze(conn, generation, table)

    def _reach(self, generation: Generation) -> dict[Place, Reach]:
        with self._engine.begin() as conn:
            return generations.reach_of(conn, generation)

    def _log_of(self, places: Iterable[Place]) -> dict[Place, range]:
        admin, some = admin_client(self._bootstrap), list(places)
        first, end = (log_offsets(admin, some, spec, _BROKER_WITHIN) for spec in (EARLIEST, LATEST))
        return {place: range(first[place], end[place]) for place in some}

    def _run_workers(self, generation: Generation, left: Mapping[Place, range], total: int) -> None:
        job = processes.Job(
            self._model, self._url, self._bootstrap, generation, [], self._chunk, os.getpid()
        )
        jobs = [replace(job, shares=some) for some in bulk.shares(left, self._processes)]

        def look() -> None:
            reach = self._reach(generation)
            done = sum(part.next - part.first for part in reach.values())
            self._progress(Progress("copying", done, total))

        processes.run(jobs, look)

    def _catch_up(self, generation: Generation) -> None:
        """Reads what the live model has read meanwhile, until only a little is left."""
        while True:
            left = self._left(generation)
            total = sum(map(len, left.values()))
            if total <= _NEAR:
                return
            records = (record for _, record in feed.read(self._bootstrap, left))
            done = 0
            while batch := list(islice(records, _BATCH)):
                with self._engine.begin() as conn:
                    self._take_in(conn, generation, batch)
                done += len(batch)
                self._progress(Progress("catching up", done, total))
            if not done:  # the last offsets are no records
                return

    def _take_in(self, conn: Connection, generation: Generation, batch: list[RawRecord]) -> None:
        generations.look_at(conn, generation)
        bulk.without_the_refused(conn, self._model, batch, self._model.apply)
        generations.advance(conn, next_offsets(batch))

    def _left(self, generation: Generation) -> dict[Place, range]:
        """What the live model has read and the generation has not."""
        until = time.monotonic() + self._patience
        while True:
            try:
                with self._engine.begin() as conn:
                    return _missing(self._model.positions(conn), conn, generation)
            except _Wait as reason:
                if time.monotonic() > until:
                    raise RebuildFailed(str(reason)) from reason
                self._progress(Progress("waiting"))
                time.sleep(_POLL)

    def _patiently(self, step: str, what: Callable[[], Report]) -> Report:
        """Does it as soon as the model can be held, which is given up when patience ends."""
        until = time.monotonic() + self._patience
        while True:
            self._progress(Progress(step))
            try:
                return what()
            except (_Wait, OperationalError) as error:
                busy = db.sqlstate(error) in (_LOCK_NOT_AVAILABLE, _DEADLOCK)
                if not isinstance(error, _Wait) and not busy:
                    raise
                if time.monotonic() > until:
                    text = str(error) if isinstance(error, _Wait) else "the tables are in use"
                    raise RebuildFailed(f"no moment for {step} was found: {text}") from error
                time.sleep(_POLL)

    @contextmanager
    def _held(self) -> Iterator["_Held"]:
        """Holds off whoever writes the live model. Raises `_Wait` where it is paused."""
        with self._engine.begin() as conn:
            conn.execute(sa.text("SET LOCAL lock_timeout = '3s'"))
            wanted = sa.select(projection_state.c.paused_by, paused.label("in_force"))
            state = conn.execute(wanted.with_for_update(of=projection_state)).one()
            began = time.monotonic()
            if state.in_force:
                raise _Wait(f"{state.paused_by} has paused the model")
            held = _Held(conn, generations.current(conn), self._model.positions(conn))
            yield held
        held.seconds = time.monotonic() - began

    def _compared(self, generation: Generation) -> Report:
        """Compares the two as they are at one moment. The live model is held only for that one."""
        with self._engine.connect() as looking:
            looking.execution_options(isolation_level="REPEATABLE READ")
            with self._held() as held:
                with self._engine.begin() as conn:
                    self._take_in_the_rest(conn, generation, held.positions)
                live = generations.current(looking)  # the first look: it sees this for ever
            found = compare(looking, self._model, live, generation)
        return Report(generation, live, held.events, found, False, held.seconds)

    def _swapped(self, generation: Generation, compared: Report | None) -> Report:
        """Takes in the last events and swaps: both or nothing."""
        with self._held() as held:
            self._take_in_the_rest(held.conn, generation, held.positions)
            generations.swap(held.conn, self._model, generation, held.positions)
        found, before = (compared.comparison, compared.stopped) if compared else (Comparison({}), 0)
        return Report(generation, held.live, held.events, found, True, before + held.seconds)

    def _take_in_the_rest(
        self, conn: Connection, generation: Generation, positions: Mapping[Place, int]
    ) -> None:
        left = _missing(positions, conn, generation)
        records = (record for _, record in feed.read(self._bootstrap, left))
        while batch := list(islice(records, _BATCH)):
            self._take_in(conn, generation, batch)


@dataclass(slots=True)
class _Held:
    """The live model while nobody writes it, and for how many seconds it was held."""

    conn: Connection
    live: Generation
    positions: Mapping[Place, int]
    seconds: float = 0.0

    @property
    def events(self) -> int:
        return sum(self.positions.values())


def _check_log(log: Mapping[Place, range], wanted: Mapping[Place, range]) -> None:
    """What is to be read must be there: a topic may have been made anew since, or cut."""
    for place, offsets in wanted.items():
        name, there = f"{place[0]}/{place[1]}", log[place]
        if offsets and not there.start <= offsets.start <= there.stop:
            raise RebuildRefused(
                f"{name} has no offset {offsets.start} any more; remove what was begun and start "
                "again"
            )
        if offsets and offsets.stop > there.stop:
            raise RebuildRefused(
                f"{name} ends before offset {there.stop}, and was read up to {offsets.stop}: the "
                "log was cut, or the topic made anew; the live model is of another log"
            )


def _missing(
    positions: Mapping[Place, int], conn: Connection, generation: Generation
) -> dict[Place, range]:
    reach = generations.reach_of(conn, generation)
    missing = {}
    for place, target in positions.items():
        begin = reach[place].next if place in reach else 0
        if begin > target:
            raise _Wait(f"the live model is being moved back on {place[0]}/{place[1]}")
        missing[place] = range(begin, target)
    return missing
