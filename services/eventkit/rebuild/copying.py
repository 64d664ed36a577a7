"""Rows into a table by COPY: many times quicker than INSERT, and one way for any table."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from pydantic_core import to_json
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.engine import Connection

from services.eventkit.rebuild.model import Rows

_AT_ONCE = 1000
_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})
_NULL = r"\N"


def copy_rows(conn: Connection, table: sa.Table, rows: Rows) -> None:
    """Writes all rows; raises a database error of psycopg where one is refused."""
    columns = [column for column in table.columns if column.computed is None]
    listed = ", ".join(f'"{column.name}"' for column in columns)
    driver = conn.connection.driver_connection
    assert driver is not None
    with (
        driver.cursor() as cursor,
        cursor.copy(f"COPY {table.name} ({listed}) FROM STDIN") as copy,
    ):
        for start in range(0, len(rows), _AT_ONCE):
            copy.write(lines(columns, rows[start : start + _AT_ONCE]))


def lines(columns: Sequence[sa.Column[Any]], rows: Rows) -> str:
    """The rows as text, made column by column: most of the work is one call for many values."""
    values = _by_column(tuple(column.name for column in columns), rows)
    texts = [_texts(column)(some) for column, some in zip(columns, values, strict=True)]
    return "\n".join([*map("\t".join, zip(*texts, strict=True)), ""])


def _by_column(names: tuple[str, ...], rows: Rows) -> Iterable[Sequence[Any]]:
    if getattr(rows[0], "_fields", None) == names:  # named tuples that lie as the columns do
        return zip(*rows, strict=True)
    return zip(*map(attrgetter(*names), rows), strict=True)


@cache
def _texts(column: sa.Column[Any]) -> Callable[[Sequence[Any]], Iterable[str]]:
    """Makes the texts of a column's values."""
    made = _texts_of(column)
    if not column.nullable:
        return made

    def or_null(values: Sequence[Any]) -> Iterable[str]:
        if None not in values:
            return made(values)
        given = iter(made([value for value in values if value is not None]))
        return [_NULL if value is None else next(given) for value in values]

    return or_null


def _texts_of(column: sa.Column[Any]) -> Callable[[Sequence[Any]], Iterable[str]]:
    if isinstance(column.type, JSONB):
        return _jsons
    if isinstance(column.type, sa.Text):
        return _escaped
    if isinstance(column.type, sa.DateTime):
        return _times
    if isinstance(column.type, sa.Uuid):
        return lambda values: map(_HEX, values)
    return lambda values: map(str, values)


_HEX: Callable[[UUID], str] = attrgetter("hex")  # a third of the time of its `str`


def _escaped(texts: Sequence[str]) -> Iterable[str]:
    whole = "".join(texts)
    if whole.isprintable() and "\\" not in whole:
        return texts
    return [text.translate(_ESCAPES) for text in texts]


def _times(values: Sequence[datetime]) -> Iterable[str]:
    return to_json(values).decode()[2:-2].split('","')  # a third of the time of `isoformat`


def _jsons(values: Sequence[Any]) -> Iterable[str]:
    # JSON has no control characters of its own left: only its backslashes are to be doubled.
    return [to_json(value).decode().replace("\\", "\\\\") for value in values]
