"""Work beside the requests does not end in silence."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from services.eventkit import background as module
from services.eventkit.background import background


def test_work_that_fails_is_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAUSE", 0.0)
    begun: list[int] = []

    async def run() -> None:
        lasts = asyncio.Event()

        async def work(_: ThreadPoolExecutor) -> None:
            begun.append(len(begun))
            if len(begun) < 3:
                raise ValueError("not now")
            lasts.set()
            await asyncio.Event().wait()

        async with background("test", work):
            await asyncio.wait_for(lasts.wait(), 5)

    asyncio.run(run())
    assert begun == [0, 1, 2]
