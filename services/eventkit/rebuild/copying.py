"""Rows into a table by COPY: many times quicker than INSERT, and one way for any table."""

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.engine import Connection

from services.eventkit.rebuild.model import Rows

_LINES = 1000
_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})


def copy_rows(conn: Connection, table: sa.Table, rows: Rows) -> None:
    """Writes all rows; raises a database error of psycopg where one is refused."""
    names = [column.name for column in table.columns if column.computed is None]
    listed = ", ".join(f'"{name}"' for name in names)
    line = _line(table, tuple(names))
    driver = conn.connection.driver_connection
    assert driver is not None
    with (
        driver.cursor() as cursor,
        cursor.copy(f"COPY {table.name} ({listed}) FROM STDIN") as copy,
    ):
        for start in range(0, len(rows), _LINES):
            copy.write("".join([line(row) for row in rows[start : start + _LINES]]))


@cache
def _line(table: sa.Table, names: tuple[str, ...]) -> Callable[[Any], str]:
    values = attrgetter(*names)
    texts: Sequence[Callable[[Any], str]] = [_text_of(table.c[name]) for name in names]

    def line(row: Any) -> str:
        fields = [
            r"\N" if value is None else text(value)
            for text, value in zip(texts, values(row), strict=True)
        ]
        return "\t".join(fields) + "\n"

    return line


def _text_of(column: sa.Column[Any]) -> Callable[[Any], str]:
    if isinstance(column.type, JSONB):
        return _json
    if isinstance(column.type, sa.DateTime):
        return datetime.isoformat
    return _escaped if isinstance(column.type, sa.Text) else str


def _escaped(text: str) -> str:
    return text.translate(_ESCAPES) if not text.isprintable() or "\\" in text else text


def _json(value: Any) -> str:
    # JSON has no control characters of its own left: only its backslashes are to be doubled.
    return json.dumps(value).replace("\\", "\\\\")
