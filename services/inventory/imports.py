"""Add a file of deliveries to the stock, chunk by chunk: the rules of imports.

A file is cut into chunks of whole lines while it arrives. Each chunk is checked by a job, and its
rows are applied with the job's result, or in the end all at once: a chunk that is read twice counts
once, and an import whose worker dies goes on at the chunk where it was.
"""

import csv
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Literal

from services.eventkit.decision import APPLIED, Decision, NewJob, ignored
from services.inventory.domain import Line, merged

PREFIX: Final = "imp_"
JOB: Final = "import"
PENDING, RUNNING = "pending", "running"
SUCCEEDED, FAILED, CANCELLED = "succeeded", "failed", "cancelled"
OPEN: Final = frozenset({PENDING, RUNNING})
Mode = Literal["all", "rows"]
ALL: Final = "all"
"""Nothing is applied unless every row is right; ``rows`` applies those that are."""

HEADER: Final = "sku,quantity"
MAX_QUANTITY: Final = 1_000_000
MAX_LINE: Final = 1000
"""Bytes of a line, its end included."""
INVALID_ROWS: Final = "invalid_rows"

_SKU: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}")
_QUANTITY: Final = re.compile(r"[0-9]{1,7}")
_PRIORITY: Final = 200
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Import:
    """A file to add to a tenant's stock. ``chunks``, ``lines`` and ``size`` (bytes) are the file's.

    ``done`` chunks have been checked; their rows were ``valid`` or ``invalid``; ``applied`` are in
    the stock.
    """

    key: str
    tenant_id: str
    mode: str
    chunks: int
    lines: int
    size: int
    requested_at: datetime
    updated_at: datetime
    status: str = PENDING
    reason: str | None = None
    done: int = 0
    valid: int = 0
    invalid: int = 0
    applied: int = 0
    ended_at: datetime | None = None
    version: int = 0

    @property
    def is_open(self) -> bool:
        """True until it has ended."""
        return self.status in OPEN

    @property
    def percent(self) -> int:
        """How much of it is done: 100 only once it has been applied."""
        if self.status == SUCCEEDED:
            return 100
        return min(99, self.done * 100 // self.chunks)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Whole lines of a file; ``first_line`` counts from 1, the header."""

    number: int
    first_line: int
    content: bytes


@dataclass(frozen=True, slots=True)
class BadRow:
    """A line that cannot be applied, and why."""

    line: int
    row: str
    error: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """Pieces to add to a tenant's stock now, one line per SKU."""

    tenant_id: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Staged:
    """Rows of an import that wait for all others."""

    import_id: str
    chunk: int
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Apply:
    """All staged rows of an import, to add to the stock now."""

    import_id: str


@dataclass(frozen=True, slots=True)
class BadRows:
    """Lines of an import that cannot be applied."""

    import_id: str
    rows: tuple[BadRow, ...]


class NotAFile(ValueError):
    """What arrives is no file of rows; the text says why not."""


@dataclass(slots=True)
class Splitter:
    """Cuts a file into chunks of about ``size`` bytes while it arrives."""

    size: int
    lines: int = 0
    bytes_in: int = 0
    chunks: int = 0
    _rest: bytes = b""
    _next_line: int = 1
    _hash: Any = field(default_factory=hashlib.sha256)

    def feed(self, data: bytes) -> Iterator[Chunk]:
        """The chunks that have become whole with this. Raises `NotAFile`."""
        self._hash.update(data)
        self.bytes_in += len(data)
        self._rest += data
        while len(self._rest) >= self.size:
            end = self._rest.rfind(b"\n", 0, self.size) + 1
            if not end:
                end = self._rest.find(b"\n") + 1
            if not end:
                if len(self._rest) > max(self.size, MAX_LINE):
                    raise NotAFile(f"line {self._next_line} is longer than {MAX_LINE} bytes")
                return
            yield from self._cut(end)

    def end(self) -> Iterator[Chunk]:
        """What is left. Raises `NotAFile` also where there was no row at all."""
        yield from self._cut(len(self._rest))
        if not self.lines:
            raise NotAFile("there is no row in it")

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all that has arrived."""
        return str(self._hash.hexdigest())

    def _cut(self, end: int) -> Iterator[Chunk]:
        piece, self._rest = self._rest[:end], self._rest[end:]
        if self._next_line == 1:
            head, _, piece = piece.partition(b"\n")
            _check_header(head)
            self._next_line = 2
        lines = piece.splitlines(keepends=False) if piece else []
        count = piece.count(b"\n") + (not piece.endswith(b"\n") if piece else 0)
        if any(len(line) > MAX_LINE for line in lines):
            raise NotAFile(f"a line is longer than {MAX_LINE} bytes")
        if piece.strip():
            yield Chunk(self.chunks, self._next_line, piece)
            self.chunks += 1
            self.lines += sum(1 for line in piece.split(b"\n") if line.strip())
        self._next_line += count


def parse(chunk: Chunk) -> tuple[list[tuple[str, int]], list[BadRow]]:
    """The rows of a chunk, and the lines that are none; empty lines are passed over."""
    rows: list[tuple[str, int]] = []
    bad: list[BadRow] = []
    for number, raw in enumerate(chunk.content.split(b"\n"), start=chunk.first_line):
        if not raw.strip():
            continue
        text = raw.decode(errors="replace").strip("\r")
        try:
            rows.append(_row(text))
        except ValueError as error:
            bad.append(BadRow(number, text[:200], str(error)))
    return rows, bad


def start(state: Import | None, new: Import) -> Decision[Import]:
    """Check the first chunk later."""
    if state is not None:
        return Decision(ignored("already_started"))
    return Decision(APPLIED, new, jobs=(_job(0),))


def take_in(state: Import | None, told: Mapping[str, Any], now: datetime) -> Decision[Import]:
    """Take a checked chunk in: its rows are applied now, or staged until all are known.

    ``told`` has the chunk's ``rows`` as (SKU, pieces) and its ``bad`` rows.
    """
    if state is None or not state.is_open:
        return Decision(ignored("import_over"))
    chunk = told["asked"]["chunk"]
    if chunk != state.done:
        return Decision(ignored("chunk_taken_in"))
    rows: Sequence[tuple[str, int]] = told["rows"]
    bad: Sequence[BadRow] = told["bad"]
    at_once = state.mode != ALL
    after = replace(
        state,
        status=RUNNING,
        done=chunk + 1,
        valid=state.valid + len(rows),
        invalid=state.invalid + len(bad),
        applied=state.applied + (len(rows) if at_once else 0),
        updated_at=now,
    )
    related: dict[str, Any] = {}
    if rows:
        lines = merged(Line(sku, quantity) for sku, quantity in rows)
        related[f"rows:{state.key}:{chunk}"] = (
            Receipt(state.tenant_id, lines) if at_once else Staged(state.key, chunk, lines)
        )
    if bad:
        related[f"bad:{state.key}:{chunk}"] = BadRows(state.key, tuple(bad))
    if after.done < after.chunks:
        return Decision(APPLIED, after, jobs=(_job(after.done),), related=related)
    if not at_once and after.invalid:
        ended = replace(after, status=FAILED, reason=INVALID_ROWS, ended_at=now)
        return Decision(APPLIED, ended, related=related)
    if not at_once:
        related[f"apply:{state.key}"] = Apply(state.key)
    ended = replace(after, status=SUCCEEDED, applied=after.valid, ended_at=now)
    return Decision(APPLIED, ended, related=related)


def fail(state: Import | None, reason: str, now: datetime) -> Decision[Import]:
    """Give an import up of which a chunk cannot be read; what was applied stays."""
    if state is None or not state.is_open:
        return Decision(ignored("import_over"))
    ended = replace(state, status=FAILED, reason=reason, updated_at=now, ended_at=now)
    return Decision(APPLIED, ended)


def cancel(state: Import | None, now: datetime) -> Decision[Import]:
    """Apply nothing more; what was applied stays."""
    if state is None or not state.is_open:
        return Decision(ignored("import_over"))
    ended = replace(state, status=CANCELLED, updated_at=now, ended_at=now)
    return Decision(APPLIED, ended, cancel_jobs=(JOB,))


def _job(chunk: int) -> NewJob:
    return NewJob(JOB, {"chunk": chunk}, priority=_PRIORITY)


def _check_header(line: bytes) -> None:
    found = line.removeprefix(_BOM).decode(errors="replace").strip().lower().replace('"', "")
    if ",".join(part.strip() for part in found.split(",")) != HEADER:
        raise NotAFile(f"its first line is not {HEADER}")


def _row(text: str) -> tuple[str, int]:
    try:
        (cells,) = csv.reader([text], strict=True)
    except csv.Error as error:
        raise ValueError(f"not CSV: {error}") from error
    if len(cells) != 2:
        raise ValueError(f"{len(cells)} columns, not 2")
    sku, quantity = (cell.strip() for cell in cells)
    if not _SKU.fullmatch(sku):
        raise ValueError("sku: up to 64 letters, digits, and _ . - after the first")
    if not _QUANTITY.fullmatch(quantity) or not 1 <= int(quantity) <= MAX_QUANTITY:
        raise ValueError(f"quantity: a whole number from 1 to {MAX_QUANTITY}")
    return sku, int(quantity)
