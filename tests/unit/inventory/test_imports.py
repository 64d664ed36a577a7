"""The rules of imports: how a file is cut, which rows count, and that each chunk counts once."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.eventkit.decision import Decision
from services.inventory import imports
from services.inventory.domain import Line
from services.inventory.imports import (
    Apply,
    BadRow,
    BadRows,
    Chunk,
    Import,
    NotAFile,
    Receipt,
    Splitter,
    Staged,
    parse,
    take_in,
)
from tests.events import NOW

LATER = NOW + timedelta(seconds=5)
NEW = Import("imp_1", "demo", "rows", 2, 4, 60, NOW, NOW)
TEA = Line("TEA", 3)


def cut(data: bytes, size: int = 30, step: int = 7) -> tuple[Splitter, list[Chunk]]:
    splitter = Splitter(size)
    pieces = [data[at : at + step] for at in range(0, len(data), step)]
    chunks = [chunk for piece in pieces for chunk in splitter.feed(piece)]
    return splitter, chunks + list(splitter.end())


@given(
    lines=st.lists(st.sampled_from([b"A,1", b"TEA-1,22", b"", b"bad", b" "]), min_size=1),
    size=st.integers(1, 60),
    step=st.integers(1, 50),
    end=st.sampled_from([b"\n", b"\r\n"]),
    last=st.booleans(),
)
def test_every_line_is_in_one_chunk_under_its_number_however_it_arrives(
    lines: list[bytes], size: int, step: int, end: bytes, last: bool
) -> None:
    data = end.join([b"sku,quantity", b"X,1", *lines]) + (end if last else b"")
    splitter, chunks = cut(data, size, step)
    rows, bad = zip(*(parse(chunk) for chunk in chunks), strict=True)
    lists = enumerate([b"X,1", *lines], start=2)
    wanted = [(number, line.decode()) for number, line in lists if line.strip()]
    assert [(row.line, row.row) for part in bad for row in part] == [
        (number, text) for number, text in wanted if text == "bad"
    ]
    assert [f"{sku},{pieces}" for part in rows for sku, pieces in part] == [
        text for _, text in wanted if text != "bad"
    ]
    assert (splitter.chunks, splitter.lines) == (len(chunks), len(wanted))
    assert [chunk.number for chunk in chunks] == list(range(len(chunks)))
    assert splitter.bytes_in == len(data)


def test_a_chunk_is_never_much_larger_than_asked() -> None:
    data = b"sku,quantity\n" + b"TEA,1\n" * 1000
    _, chunks = cut(data, size=100, step=65_536)
    assert max(len(chunk.content) for chunk in chunks) <= 100
    assert len(chunks) > 50


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "first line"),
        (b"TEA,1\n", "first line"),
        (b"sku;quantity\nTEA;1\n", "first line"),
        (b"sku,quantity\n", "no row"),
        (b"sku,quantity\n\n \r\n", "no row"),
        (b"sku,quantity\nTEA," + b"1" * 2000, "longer than"),
        (b"sku,quantity\nTEA," + b"1" * 2000 + b"\nA,1\n", "longer than"),
        (b"\x00" * 5000, "longer than|first line"),
    ],
)
def test_what_is_no_file_of_rows_is_refused_while_it_arrives(data: bytes, why: str) -> None:
    with pytest.raises(NotAFile, match=why):
        cut(data)


@pytest.mark.parametrize(
    "header", [b"sku,quantity", b'"SKU", "Quantity"', b"\xef\xbb\xbfsku,quantity"]
)
def test_a_header_may_be_written_as_programs_write_it(header: bytes) -> None:
    _, chunks = cut(header + b"\r\nTEA,1\r\n")
    assert [parse(chunk) for chunk in chunks] == [([("TEA", 1)], [])]


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (b"TEA", "1 columns"),
        (b"TEA,1,2", "3 columns"),
        (b",1", "sku"),
        (b"-TEA,1", "sku"),
        (b"T" * 65 + b",1", "sku"),
        (b"TEE\xff,1", "sku"),
        (b"TEA,0", "quantity"),
        (b"TEA,-1", "quantity"),
        (b"TEA,1.5", "quantity"),
        (b"TEA,1000001", "quantity"),
        (b"TEA,\xd9\xa3", "quantity"),
        (b'"TEA,1', "CSV"),
        (b"TEA,1\x00", "quantity|CSV"),
    ],
)
def test_a_row_at_fault_says_what_is_wrong_with_it(row: bytes, why: str) -> None:
    rows, bad = parse(Chunk(0, 7, row + b'\n"TEA", 5 \n'))
    assert rows == [("TEA", 5)]
    assert [one.line for one in bad] == [7]
    assert any(word in bad[0].error for word in why.split("|"))


def told(chunk: int, rows: Any = (("TEA", 1), ("TEA", 2)), bad: Any = ()) -> dict[str, Any]:
    return {"asked": {"chunk": chunk}, "rows": rows, "bad": bad}


def after(decision: Decision[Import]) -> Import:
    assert decision.state is not None
    return decision.state


def kinds(decision: Decision[Import]) -> list[Any]:
    return list(decision.related.values())


def test_by_row_each_chunk_is_applied_when_it_is_known() -> None:
    wrong = BadRow(3, "x", "y")
    assert [job.args for job in imports.start(None, NEW).jobs] == [{"chunk": 0}]
    first = take_in(NEW, told(0, bad=(wrong,)), LATER)
    assert kinds(first) == [Receipt("demo", (TEA,)), BadRows("imp_1", (wrong,))]
    assert (after(first).percent, after(first).applied, first.jobs[0].args) == (50, 2, {"chunk": 1})
    last = take_in(after(first), told(1), LATER)
    ended = after(last)
    assert (ended.status, ended.valid, ended.invalid, ended.applied) == ("succeeded", 4, 1, 4)
    assert (ended.percent, ended.ended_at, last.jobs) == (100, LATER, ())


def test_all_or_nothing_stages_rows_and_applies_them_with_the_last_chunk() -> None:
    first = take_in(replace(NEW, mode="all"), told(0), LATER)
    assert kinds(first) == [Staged("imp_1", 0, (TEA,))]
    assert after(first).applied == 0
    last = take_in(after(first), told(1), LATER)
    assert kinds(last) == [Staged("imp_1", 1, (TEA,)), Apply("imp_1")]
    assert (after(last).status, after(last).applied) == ("succeeded", 4)


def test_all_or_nothing_is_nothing_where_one_row_is_wrong() -> None:
    first = take_in(replace(NEW, mode="all"), told(0, bad=(BadRow(2, "x", "y"),)), LATER)
    last = take_in(after(first), told(1), LATER)
    assert not [one for one in kinds(last) if isinstance(one, Apply | Receipt)]
    ended = after(last)
    assert (ended.status, ended.reason, ended.applied) == ("failed", "invalid_rows", 0)


def test_a_chunk_that_comes_again_counts_once() -> None:
    state = after(take_in(NEW, told(0), LATER))
    assert take_in(state, told(0), LATER) == Decision("ignored:chunk_taken_in")


@pytest.mark.parametrize("status", ["succeeded", "failed", "cancelled"])
def test_nothing_changes_an_import_that_has_ended(status: str) -> None:
    ended = replace(NEW, status=status)
    over: Decision[Import] = Decision("ignored:import_over")
    assert take_in(ended, told(0), LATER) == over
    assert imports.cancel(ended, LATER) == over
    assert imports.fail(ended, "x", LATER) == over


def test_a_cancelled_import_plans_nothing_more() -> None:
    decision = imports.cancel(NEW, LATER)
    assert (after(decision).status, decision.cancel_jobs) == ("cancelled", ("import",))
