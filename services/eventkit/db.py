"""The database: an engine per process, set-based writes, and what an error means."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, Insert, insert
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.sql.dml import ReturningInsert

Rows = Sequence[Mapping[str, Any]]


def make_engine(url: str, *, pool_size: int = 8, name: str = "saga") -> Engine:
    """A pooled engine; every statement is READ COMMITTED and waits 10 s at most for a lock.

    Connections stay open once made: opening one costs the server more than a transaction does.
    """
    return sa.create_engine(
        url,
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=10,
        hide_parameters=True,  # errors are logged and traced, and values may be anybody's
        connect_args={
            "application_name": name,
            "connect_timeout": 5,
            "options": "-c lock_timeout=10s -c idle_in_transaction_session_timeout=60s",
            "prepare_threshold": 2,
            # A server that is gone without a word is noticed within half a minute, not two hours.
            "keepalives_idle": 15,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 30_000,
        },
    )


def insert_rows(conn: Connection, table: sa.Table, rows: Rows) -> None:
    """Inserts all rows in one statement; every row has the same columns."""
    if rows:
        conn.execute(_insert(table, tuple(rows[0])), _arrays(rows))


def insert_new_rows(
    conn: Connection, table: sa.Table, rows: Rows, returning: sa.Column[Any]
) -> list[Any]:
    """Inserts the rows that are not there yet; returns ``returning`` of those it inserted."""
    if not rows:
        return []
    statement = _insert_new(table, tuple(rows[0]), returning)
    return list(conn.execute(statement, _arrays(rows)).scalars())


def upsert_rows(conn: Connection, table: sa.Table, rows: Rows) -> None:
    """Inserts or overwrites by primary key in one statement; no key may come twice."""
    if rows:
        conn.execute(_upsert(table, tuple(rows[0])), _arrays(rows))


def _arrays(rows: Rows) -> dict[str, list[Any]]:
    return {f"all_{name}": [row[name] for row in rows] for name in rows[0]}


# Building a statement costs more than running it, so each is built once.
@cache
def _insert(table: sa.Table, names: tuple[str, ...]) -> Insert:
    """``INSERT ... SELECT FROM unnest(...)``: one array a column, whatever the number of rows."""
    columns = [table.c[name] for name in names]
    arrays = [
        sa.bindparam(f"all_{column.name}", type_=ARRAY(column.type, dimensions=1))
        for column in columns
    ]
    new = [sa.column(column.name, column.type) for column in columns]
    source = sa.func.unnest(*arrays).table_valued(*new, name="new").render_derived()
    return insert(table).from_select(list(names), sa.select(*source.c), include_defaults=False)


@cache
def _insert_new(
    table: sa.Table, names: tuple[str, ...], returning: sa.Column[Any]
) -> ReturningInsert[Any]:
    return _insert(table, names).on_conflict_do_nothing().returning(returning)


@cache
def _upsert(table: sa.Table, names: tuple[str, ...]) -> Insert:
    statement = _insert(table, names)
    key = [column.name for column in table.primary_key]
    values = {name: statement.excluded[name] for name in names if name not in key}
    return statement.on_conflict_do_update(index_elements=key, set_=values)


def as_text(text: str) -> str:
    """The text with its NULs written out: PostgreSQL stores none."""
    return text.replace("\x00", "\\x00")


def sqlstate(error: BaseException) -> str:
    """The SQLSTATE of a database error, or an empty text: a lost connection has none."""
    original = getattr(error, "orig", error)
    return getattr(original, "sqlstate", None) or ""


def is_refused(error: BaseException) -> bool:
    """True where the database is there and refuses a statement as such (SQLSTATE class 42).

    A mistake in our SQL, a table that is missing, or a right: time alone does not mend it.
    """
    return sqlstate(error)[:2] == "42"


def is_bad_data(error: BaseException) -> bool:
    """True where the written values are at fault, not the database.

    SQLSTATE class 22 is a value that no column takes, 23 one that a constraint refuses, 54 one that
    is too big for an index. One that the driver itself refuses, such as a NUL, has no SQLSTATE, and
    one that cannot even be written down, such as a time in JSON, does not get to the driver.
    """
    state = sqlstate(error)
    if isinstance(error, sa.exc.StatementError) and not isinstance(error, sa.exc.DBAPIError):
        return True
    return state[:2] in {"22", "23", "54"} or (not state and isinstance(error, sa.exc.DataError))
