"""Reading a thing, and waiting for it to change without holding a database connection."""

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Header, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from services.eventkit.feed import Feed

Wait = Annotated[
    int,
    Query(
        ge=0,
        le=60,
        description="Seconds to wait for the ending, or for a change from `If-None-Match`",
        examples=[30],
    ),
]
IfNoneMatch = Annotated[
    str | None, Header(alias="If-None-Match", description="The `ETag` of an earlier answer")
]
TAGGED: Final[dict[str, Any]] = {
    "headers": {"ETag": {"schema": {"type": "string"}, "description": "Differs when it does"}}
}
UNCHANGED: Final[dict[str, Any]] = {**TAGGED, "description": "It is as `If-None-Match` says"}

_LOOK_FOR_CLIENT = 2.0


@dataclass(frozen=True, slots=True)
class Shown:
    """A thing as it is told, and the tag of exactly this."""

    body: Mapping[str, Any]
    tag: str
    ended: bool

    def matches(self, if_none_match: str | None) -> bool:
        """Whether the client has this already (RFC 9110, weak comparison)."""
        given = [tag.strip().removeprefix("W/") for tag in (if_none_match or "").split(",")]
        return self.tag in given or "*" in given


def shown(told: BaseModel, *, ended: bool) -> Shown:
    """What is told, with its tag."""
    body = told.model_dump(mode="json")
    canonical = json.dumps(body, sort_keys=True).encode()
    return Shown(body, f'"{hashlib.sha256(canonical).hexdigest()[:20]}"', ended)


class Reading:
    """Answers who polls and who waits.

    ``look`` finds a tenant's thing by its id, and raises `Problem` 404 where there is none.
    """

    def __init__(self, feed: Feed, look: Callable[[str, str], Shown]) -> None:
        self._feed = feed
        self._look = look

    async def answer(
        self,
        request: Request,
        tenant_id: str,
        key: str,
        if_none_match: str | None,
        seconds: float,
    ) -> Response:
        """The thing as it is, or once it has changed; 304 where the client has just that."""
        if seconds:
            told = await self._wait(request, tenant_id, key, if_none_match, seconds)
        else:
            told = await run_in_threadpool(self._look, tenant_id, key)
        headers = {"ETag": told.tag, "Cache-Control": "private, no-cache"}
        if told.matches(if_none_match):
            return Response(status_code=304, headers=headers)
        return JSONResponse(told.body, headers=headers)

    async def _wait(
        self,
        request: Request,
        tenant_id: str,
        key: str,
        if_none_match: str | None,
        seconds: float,
    ) -> Shown:
        """The thing once it differs from what the client has, or else has ended.

        After ``seconds``, or when the process stops, as it is then.
        """

        def worth_telling(now: Shown) -> bool:
            return not now.matches(if_none_match) if if_none_match else now.ended

        now = await run_in_threadpool(self._look, tenant_id, key)
        if worth_telling(now):
            return now
        self._feed.check_room(tenant_id)
        clock = asyncio.get_running_loop().time
        deadline = clock() + seconds
        async with self._feed.wait_for("poll", tenant_id, key) as waiter:
            now = await run_in_threadpool(self._look, tenant_id, key)
            while not worth_telling(now) and not waiter.closed and clock() < deadline:
                if await waiter.take(min(_LOOK_FOR_CLIENT, max(0.0, deadline - clock()))):
                    now = await run_in_threadpool(self._look, tenant_id, key)
                elif await request.is_disconnected():
                    break
        return now
