"""Rows as COPY reads them."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from services.eventkit.rebuild.copying import lines

TABLE = sa.Table(
    "things",
    sa.MetaData(),
    sa.Column("id", sa.Uuid, primary_key=True),
    sa.Column("name", sa.Text),
    sa.Column("at", sa.DateTime(timezone=True)),
    sa.Column("number", sa.BigInteger),
    sa.Column("data", JSONB),
)
ID = UUID("0b0f6a52-6f4e-4f0e-9f30-000000000001")
HEX = "0b0f6a526f4e4f0e9f30000000000001"


@dataclass(frozen=True)
class Thing:
    name: str | None
    at: datetime | None = None
    number: int | None = None
    data: Any = None
    id: UUID = ID


def made(*things: Thing) -> list[str]:
    text = lines(list(TABLE.columns), things)
    assert text.endswith("\n")
    return text[:-1].split("\n")


def test_every_kind_of_value() -> None:
    at = datetime(2026, 3, 1, 12, 0, 0, 5000, tzinfo=UTC)
    thing = Thing("Zoë", at, -7, {"a": [1, None, True], "b": "ü"})
    assert made(thing) == [
        f'{HEX}\tZoë\t2026-03-01T12:00:00.005000Z\t-7\t{{"a":[1,null,true],"b":"ü"}}'
    ]


def test_nothing_is_not_the_text_of_nothing() -> None:
    assert made(Thing(None), Thing(r"\N"), Thing("")) == [
        rf"{HEX}	\N	\N	\N	\N",
        rf"{HEX}	\\N	\N	\N	\N",
        rf"{HEX}		\N	\N	\N",
    ]


def test_what_would_end_a_field_or_a_line_is_escaped_in_every_row() -> None:
    first, second, third = made(
        Thing("plain", data={"a": "plain"}),
        Thing("a\tb\nc\rd\\e", data={"a": "a\tb\nc\\d"}),
        Thing("plain"),
    )
    assert first.split("\t")[1::3] == ["plain", '{"a":"plain"}']
    assert second.split("\t")[1::3] == [r"a\tb\nc\rd\\e", r'{"a":"a\\tb\\nc\\\\d"}']
    assert third.split("\t")[1] == "plain"
