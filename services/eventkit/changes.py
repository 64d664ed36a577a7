"""Every state a thing has had, as rows of the transactions that made them: what streams tell.

Rows of one thing are written under its lock, so their numbers are in the order of their commits.
Those of different ones are not: a transaction with a lower number may commit later. A reader of
more than one therefore passes over what a transaction wrote that began before the oldest one still
under way, and takes it up when that one has ended. A place is (transaction, number).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.engine import Connection, Row

from services.eventkit import db

PAGE: Final = 500
_HORIZON = "pg_snapshot_xmin(pg_current_snapshot())"
_NOW = sa.text(f"SELECT {_HORIZON}::text::bigint")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where a reader is: all that is at or before it has been read."""

    xact: int
    seq: int

    def __str__(self) -> str:
        return f"{self.xact}-{self.seq}"

    @classmethod
    def parse(cls, text: str) -> "Place | None":
        """The reverse of ``str``; None for anything else."""
        found = re.fullmatch(r"(\d{1,18})-(\d{1,18})", text)
        return cls(int(found[1]), int(found[2])) if found else None


BEGINNING: Final = Place(0, 0)
"""The place of a state that was read where the thing itself is kept."""


@dataclass(frozen=True, slots=True)
class Change:
    """One state of a thing; ``ended`` where it is at an ending."""

    place: Place
    tenant_id: str
    key: str
    state: Mapping[str, Any]
    ended: bool


@dataclass(frozen=True, slots=True)
class NewChange:
    """A state to store, as JSON, and since when it is so."""

    tenant_id: str
    key: str
    at: datetime
    state: Mapping[str, Any]


class ChangeLog:
    """The changes of one kind of thing: ``order`` has ``order_changes`` with ``order_id``.

    A state is JSON with a ``status``; one that is not among ``open_statuses`` is an ending.
    """

    def __init__(self, name: str, open_statuses: frozenset[str]) -> None:
        self.name = name
        self.id_name = f"{name}_id"
        self.table = f"{name}_changes"
        self._open = open_statuses
        self._rows = sa.Table(
            self.table,
            sa.MetaData(),
            sa.Column("seq", sa.BigInteger, sa.Identity(always=True), primary_key=True),
            sa.Column("tenant_id", sa.Text, nullable=False),
            sa.Column(self.id_name, sa.Text, nullable=False),
            sa.Column("at", sa.DateTime(timezone=True), nullable=False),
            sa.Column("state", JSONB, nullable=False),
        )
        self.columns = f"seq, xact::text::bigint AS xact, tenant_id, {self.id_name} AS key, state"
        some = f"SELECT {self.columns} FROM {self.table}"  # noqa: S608 - names of ours
        self._between = sa.text(f"""{some}
WHERE xact >= CAST(CAST(:low AS text) AS xid8) AND xact < CAST(CAST(:high AS text) AS xid8)
ORDER BY xact, seq""")
        self._of_tenant = sa.text(f"""{some}
WHERE tenant_id = :tenant AND (xact, seq) > (CAST(CAST(:xact AS text) AS xid8), :seq)
  AND xact < {_HORIZON}
ORDER BY xact, seq LIMIT {PAGE}""")
        self._of_key = sa.text(f"{some} WHERE {self.id_name} = :key AND seq >= :seq ORDER BY seq")
        self._last = sa.text(f"{some} WHERE {self.id_name} = :key ORDER BY seq DESC LIMIT 1")
        self._known = sa.text(f"""
SELECT CAST(CAST(:xact AS text) AS xid8) <= {_HORIZON} AND coalesce(
    (SELECT (xact, seq) <= (CAST(CAST(:xact AS text) AS xid8), :seq)
     FROM {self.table} ORDER BY xact, seq LIMIT 1), false)""")  # noqa: S608
        self.old = f"""
DELETE FROM {self.table} WHERE seq IN (
    SELECT seq FROM (SELECT seq, at FROM {self.table} ORDER BY seq LIMIT :batch) AS first
    WHERE at < :before)"""  # noqa: S608
        """Deletes the oldest rows: they have the lowest numbers."""

    def record(self, conn: Connection, changes: Sequence[NewChange]) -> None:
        """Stores states in one statement."""
        rows = [
            {"tenant_id": new.tenant_id, self.id_name: new.key, "at": new.at, "state": new.state}
            for new in changes
        ]
        db.insert_rows(conn, self._rows, rows)

    def now(self, tenant_id: str, key: str, state: Mapping[str, Any]) -> Change:
        """The state a thing has, read where the thing itself is kept."""
        return Change(BEGINNING, tenant_id, key, state, self.is_ended(state))

    def is_ended(self, state: Mapping[str, Any]) -> bool:
        """True where this state is an ending."""
        return state["status"] not in self._open

    def horizon(self, conn: Connection) -> int:
        """The oldest transaction that may still be under way: what began before it is final."""
        return int(conn.execute(_NOW).scalar_one())

    def between(self, conn: Connection, low: int, high: int) -> list[Change]:
        """All changes written by transactions from ``low`` to below ``high``."""
        rows = conn.execute(self._between, {"low": low, "high": high})
        return [self.change(row) for row in rows]

    def of_tenant(self, conn: Connection, tenant_id: str, after: Place) -> list[Change]:
        """A tenant's next changes, up to `PAGE`, leaving out those that may not be final yet."""
        values = {"tenant": tenant_id, "xact": after.xact, "seq": after.seq}
        return [self.change(row) for row in conn.execute(self._of_tenant, values)]

    def of_key(self, conn: Connection, key: str, after: Place) -> list[Change] | None:
        """Changes behind one of the same thing; None where that one is not known (any more)."""
        rows = conn.execute(self._of_key, {"key": key, "seq": after.seq})
        found = [self.change(row) for row in rows]
        return found[1:] if found and found[0].place == after else None

    def last_of(self, conn: Connection, key: str) -> Change | None:
        """A thing's latest change, if it is still kept."""
        row = conn.execute(self._last, {"key": key}).one_or_none()
        return self.change(row) if row else None

    def known(self, conn: Connection, place: Place) -> bool:
        """Whether everything behind a place is still kept, as far as anybody can tell."""
        values = {"xact": place.xact, "seq": place.seq}
        return bool(conn.execute(self._known, values).scalar_one())

    def change(self, row: Row[Any]) -> Change:
        """A row of ``columns``."""
        place = Place(row.xact, row.seq)
        return Change(place, row.tenant_id, row.key, row.state, self.is_ended(row.state))
