"""Idempotency-Key: the first answer to a key is stored with what it did, in one transaction.

Semantics of the IETF draft "The Idempotency-Key HTTP Header Field": the same key with the same
content gets the first answer again, with other content 422. A twin in flight waits for the first
one's commit; there is no in-progress state that a crash could leave behind.
"""

import asyncio
import hashlib
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated, Any, Final, TypeVar

import sqlalchemy as sa
from fastapi import Header
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError
from starlette.concurrency import run_in_threadpool

from services.eventkit.db import sqlstate
from services.eventkit.http import FieldError, Problem
from services.eventkit.retention import prune
from services.eventkit.tables import idempotency_keys

PATIENCE: Final = 2.0
"""Seconds that a twin waits for the first answer."""

_LOCK_TIMEOUT = "55P03"
_HEADER = "Idempotency-Key"
_PRINTABLE = r"^[\x20-\x7e]+$"
_OLD_KEYS = """
DELETE FROM idempotency_keys WHERE (tenant_id, route, key) IN (
    SELECT tenant_id, route, key FROM idempotency_keys WHERE created_at < :before
    ORDER BY created_at LIMIT :batch)"""

T = TypeVar("T")
Turn = Callable[[], AbstractAsyncContextManager[None]]

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias=_HEADER,
        min_length=1,
        max_length=255,
        pattern=_PRINTABLE,
        description="A key of your choice: a repeat with the same content gets the first answer",
        examples=["4fc2a7f0-order"],
    ),
]
_LOCATION, _REPLAYED = "Location", "Idempotent-Replayed"


def accepted(location: str) -> dict[str, Any]:
    """The headers of an `Answer` as OpenAPI has them; ``location`` describes the first."""
    return {
        "headers": {
            _LOCATION: {"schema": {"type": "string"}, "description": location},
            _REPLAYED: {
                "schema": {"type": "string"},
                "description": "`true` where an earlier request with the key got this answer",
            },
        }
    }


@dataclass(frozen=True, slots=True)
class Name:
    """What a key is unique in: its tenant and the route it was sent to."""

    tenant_id: str
    route: str
    key: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request was answered with; ``replayed`` where an earlier one got it first.

    The body says where what was asked for can be followed (``status_url``).
    """

    status: int
    body: Mapping[str, Any]
    replayed: bool = False

    @property
    def headers(self) -> dict[str, str]:
        """Where to go on, and whether this is a repeat."""
        location = {_LOCATION: str(self.body["status_url"])}
        return location | ({_REPLAYED: "true"} if self.replayed else {})


@dataclass(slots=True)
class _Seat:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    taken: int = 0


class Twins:
    """Requests of one process under the same name pass one by one.

    They wait here, where waiting costs nothing, and neither in a thread nor in the database, where
    a crowd of them would take every connection. What holds between processes is the row in
    `idempotency_keys`, not this.
    """

    def __init__(self) -> None:
        self._seats: dict[Name, _Seat] = {}

    @asynccontextmanager
    async def one_by_one(self, name: Name) -> AsyncIterator[float]:
        """The seconds that are left to wait. Raises `Problem` 409 where `PATIENCE` has run out."""
        deadline = time.monotonic() + PATIENCE
        seat = self._seats.setdefault(name, _Seat())
        seat.taken += 1
        try:
            try:
                async with asyncio.timeout(PATIENCE):
                    await seat.lock.acquire()
            except TimeoutError:
                raise in_flight() from None
            try:
                yield max(0.05, deadline - time.monotonic())
            finally:
                seat.lock.release()
        finally:
            seat.taken -= 1
            if not seat.taken:
                del self._seats[name]


class Once:
    """Does what a route does once for each key of a tenant.

    ``turn`` is waited for before anything is done; a twin that waits for the first has none.
    """

    def __init__(self, db: sa.Engine, route: str, turn: Turn = nullcontext) -> None:
        self._db = db
        self._route = route
        self._turn = turn
        self._twins = Twins()

    async def do(
        self,
        tenant_id: str,
        key: str | None,
        content: Any,
        new: Answer,
        act: Callable[[Connection], T],
    ) -> tuple[Answer, T | None]:
        """Acts in a transaction and answers ``new``, or gives the answer the key got before.

        ``act`` runs in a thread. Raises `Problem` 422 where the key came with other content, 409
        where its first request is still in flight, and what ``turn`` and ``act`` raise.
        """
        if key is None:
            async with self._turn():
                return await run_in_threadpool(self._act, new, act)
        name = Name(tenant_id, self._route, key)
        async with self._twins.one_by_one(name) as patience, self._turn():
            return await run_in_threadpool(self._act_once, name, content, new, act, patience)

    def _act(self, new: Answer, act: Callable[[Connection], T]) -> tuple[Answer, T | None]:
        with self._db.begin() as conn:
            return new, act(conn)

    def _act_once(
        self,
        name: Name,
        content: Any,
        new: Answer,
        act: Callable[[Connection], T],
        patience: float,
    ) -> tuple[Answer, T | None]:
        with self._db.begin() as conn:
            if first := first_answer(conn, name, content, new, patience):
                return first, None
            return new, act(conn)


def in_flight() -> Problem:
    """The first request with the key is still being answered."""
    detail = "A request with this key is still being answered."
    return Problem(409, "request-in-flight", detail, headers={"Retry-After": "1"})


def fingerprint(content: Any) -> str:
    """The same for the same content, whatever the order of its keys and its white space."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()


def first_answer(
    conn: Connection, name: Name, content: Any, answer: Answer, patience: float = PATIENCE
) -> Answer | None:
    """Claims the name for ``answer``, or returns what an earlier request was answered with.

    Must be the first write of the transaction. Raises `Problem` 422 where the key came with other
    content, 409 where the first request is still in flight after ``patience`` seconds.
    """
    table = idempotency_keys.c
    mark = fingerprint(content)
    conn.execute(sa.text(f"SET LOCAL lock_timeout = {int(patience * 1000)}"))
    claim = (
        insert(idempotency_keys)
        .values(
            tenant_id=name.tenant_id,
            route=name.route,
            key=name.key,
            fingerprint=mark,
            status=answer.status,
            body=answer.body,
        )
        .on_conflict_do_nothing()
        .returning(table.key)
    )
    try:
        if conn.execute(claim).first() is not None:
            return None
    except DBAPIError as error:
        if sqlstate(error) != _LOCK_TIMEOUT:
            raise
        raise in_flight() from error
    query = sa.select(table.fingerprint, table.status, table.body).where(
        table.tenant_id == name.tenant_id, table.route == name.route, table.key == name.key
    )
    first = conn.execute(query).one_or_none()
    if first is None:  # purged between the two statements: the next try finds it gone
        raise in_flight()
    if first.fingerprint != mark:
        detail = "This key was used with other content."
        raise Problem(
            422, "idempotency-key-reused", detail, [FieldError(field=_HEADER, message=detail)]
        )
    return Answer(first.status, first.body, replayed=True)


def prune_keys(db: sa.Engine, keep: timedelta) -> int:
    """Deletes idempotency keys older than ``keep``; how many."""
    return prune(db, "idempotency_keys", _OLD_KEYS, keep)
