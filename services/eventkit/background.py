"""Work that goes on for as long as the application runs, beside its requests."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Any

from services.eventkit import logs

_LOG = logs.logger("background")
_PAUSE = 1.0


@asynccontextmanager
async def background(
    name: str, work: Callable[[ThreadPoolExecutor], Coroutine[Any, Any, None]]
) -> AsyncIterator[None]:
    """Runs ``work`` until the block ends, with one thread of its own for what would block.

    Work that fails is begun again after a second, and the log says why.
    """
    with ThreadPoolExecutor(1, thread_name_prefix=name) as thread:
        task = asyncio.create_task(_again_and_again(name, lambda: work(thread)))
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def _again_and_again(name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    while True:
        try:
            await work()
        except Exception as error:
            _LOG.error("work failed, begins again", work=name, error=logs.short(error))
            await asyncio.sleep(_PAUSE)
        else:
            return
