"""What a service tells about its read model, so that it can be rebuilt."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from services.eventkit.positions import Place
from services.eventkit.records import RawRecord

Rows = Sequence[Any]
"""Objects with one attribute a column; quickest are named tuples in the order of the columns."""


class RebuildRefused(Exception):
    """Nothing was changed; the text says why, and what to do instead."""


class RebuildFailed(Exception):
    """The live model is as it was; the text says what went wrong. Another run resumes."""


@dataclass(frozen=True, slots=True)
class Folded:
    """What a run of records came to: rows for the tables, and rows for ``dead_letters``."""

    rows: Mapping[str, Rows]
    letters: Sequence[Mapping[str, Any]] = ()


class ReadModel(Protocol):
    """A read model. It travels to other processes, so it must be picklable.

    ``tables`` are those of a generation. Each has a primary key; where one is united from another,
    it is from the first, which is indexed before all others. A transaction that reads several
    reads the last one first: a swap locks them in that order. ``version`` is raised whenever the
    same events would give other rows.
    """

    @property
    def name(self) -> str:
        """As people call it."""
        ...

    @property
    def version(self) -> int:
        """Of the projection as this code has it."""
        ...

    @property
    def topics(self) -> Sequence[str]:
        """All that it is made from."""
        ...

    @property
    def tables(self) -> Sequence[sa.Table]:
        """What a generation consists of."""
        ...

    def positions(self, conn: Connection) -> Mapping[Place, int]:
        """The next offsets of the live model, as the transaction sees it.

        Where ``projection_state`` is locked they are exact. A partition may be left out.
        """
        ...

    def fold(self, records: Iterable[RawRecord]) -> Folded:
        """Rows made from these records alone, in memory; raises what a rule raises at one."""
        ...

    def unite(self, conn: Connection, table: sa.Table) -> None:
        """Makes one row of the rows with the same key, which several calls of `fold` gave."""
        ...

    def apply(self, conn: Connection, records: Sequence[RawRecord]) -> None:
        """Takes records in as the live model does, into tables that have rows already.

        Raises what a rule raises at one.
        """
        ...

    def refused(self, record: RawRecord, error: Exception) -> Mapping[str, Any] | None:
        """The row for ``dead_letters``, if any, of a record that a rule or the database refuses."""
        ...
