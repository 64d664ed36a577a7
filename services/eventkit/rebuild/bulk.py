"""The first pass of a rebuild: partitions are folded chunk by chunk.

A chunk is one transaction: its rows and the offsets behind it. Rows are folded from the records of
their chunk alone, so memory does not grow with the log; an order that chunks share has several
rows, which are united at the end.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

import psycopg
import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from services.eventkit import db
from services.eventkit import tables as kit
from services.eventkit.positions import Place, Unreachable
from services.eventkit.rebuild import feed, generations
from services.eventkit.rebuild.copying import copy_rows
from services.eventkit.rebuild.generations import Generation
from services.eventkit.rebuild.model import Folded, ReadModel
from services.eventkit.records import RawRecord, next_offsets
from services.eventkit.trouble import is_the_records_fault

CHUNK = 10_000


def copy(
    engine: Engine,
    model: ReadModel,
    bootstrap: str,
    generation: Generation,
    share: Mapping[Place, range],
    chunk: int,
    may_go_on: Callable[[], None] = lambda: None,
) -> None:
    """Copies these offsets, chunk by chunk.

    ``may_go_on`` is asked in the transaction of each, before anything is written; what it raises
    ends the copying.
    """
    left = {place: offsets for place, offsets in share.items() if offsets}
    copying = _Copying(engine, model, bootstrap, generation, chunk, left, may_go_on)
    while left:
        if not copying.go_on():
            copying.sort_out()


@dataclass(frozen=True, slots=True)
class _Copying:
    """A share that is being copied; what was copied is taken off ``left``."""

    engine: Engine
    model: ReadModel
    bootstrap: str
    generation: Generation
    chunk: int
    left: dict[Place, range]
    may_go_on: Callable[[], None]

    def go_on(self) -> bool:
        """Copies all that is left, or up to a chunk with a record at fault: then False.

        It keeps no record, so it does not know which.
        """
        records = self._records()
        try:
            while self.left:
                passed: dict[Place, int] = {}
                folded = self.model.fold(_noted(islice(records, self.chunk), passed))
                if not passed:  # the last offsets are no records
                    self.left.clear()
                    break
                with self._transaction(passed) as conn:
                    self._write(conn, folded)
        except Exception as error:
            if not _is_a_records_fault(error):
                raise
            return False
        return True

    def sort_out(self) -> None:
        """Copies the next chunk of what is left, and puts aside the records at fault."""
        records = list(islice(self._records(), self.chunk))
        with self._transaction(next_offsets(records)) as conn:
            without_the_refused(
                conn,
                self.model,
                records,
                lambda conn, some: self._write(conn, self.model.fold(some)),
            )

    def _records(self) -> Iterator[RawRecord]:
        return (record for _, record in feed.merged(self.bootstrap, self.left))

    @contextmanager
    def _transaction(self, passed: Mapping[Place, int]) -> Iterator[Connection]:
        """The transaction of a chunk, with the offsets behind it."""
        with self.engine.begin() as conn:
            conn.execute(sa.text("SET LOCAL synchronous_commit = off"))
            self.may_go_on()
            generations.look_at(conn, self.generation)
            yield conn
            generations.advance(conn, passed)
        for place, offset in passed.items():
            self.left[place] = range(offset, self.left[place].stop)
            if not self.left[place]:
                del self.left[place]

    def _write(self, conn: Connection, folded: Folded) -> None:
        for table in self.model.tables:
            copy_rows(conn, table, folded.rows[table.name])
        _put_aside(conn, folded.letters)


def _noted(records: Iterable[RawRecord], passed: dict[Place, int]) -> Iterator[RawRecord]:
    for record in records:
        passed[record.topic, record.partition] = record.offset + 1
        yield record


def without_the_refused(
    conn: Connection,
    model: ReadModel,
    records: Sequence[RawRecord],
    write: Callable[[Connection, Sequence[RawRecord]], None],
) -> None:
    """Writes records; those at fault where a rule or the database refuses are found by halving."""
    try:
        with conn.begin_nested():
            write(conn, records)
    except Exception as error:
        if not _is_a_records_fault(error):
            raise
        if len(records) == 1:
            letter = model.refused(records[0], error)
            _put_aside(conn, [letter] if letter else [])
            return
        middle = len(records) // 2
        for some in (records[:middle], records[middle:]):
            without_the_refused(conn, model, some, write)


def _is_a_records_fault(error: Exception) -> bool:
    return is_the_records_fault(error, psycopg.Error, Unreachable)


def _put_aside(conn: Connection, letters: Sequence[Mapping[str, Any]]) -> None:
    db.insert_new_rows(conn, kit.dead_letters, letters, kit.dead_letters.c.message_id)


def shares(ranges: Mapping[Place, range], processes: int) -> Iterator[list[dict[Place, range]]]:
    """What each process copies: the partitions of one number together, whatever their topic.

    Topics are keyed alike, so the events of an order have one partition number.
    """
    numbers = sorted({partition for (_, partition), offsets in ranges.items() if offsets})
    for first in range(min(processes, len(numbers))):
        yield [
            {place: r for place, r in ranges.items() if place[1] == number and r}
            for number in numbers[first::processes]
        ]
