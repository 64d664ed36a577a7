"""Work that goes on for as long as the application runs, beside its requests."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Any


@asynccontextmanager
async def background(
    name: str, work: Callable[[ThreadPoolExecutor], Coroutine[Any, Any, None]]
) -> AsyncIterator[None]:
    """Runs ``work`` until the block ends, with one thread of its own for what would block."""
    with ThreadPoolExecutor(1, thread_name_prefix=name) as thread:
        task = asyncio.create_task(work(thread))
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
