"""Charges that take their time: settled when due, whether or not anybody still waits."""

import asyncio
from functools import partial

from infra.fakes.clock import seconds_until
from infra.fakes.payment_provider import charges
from infra.fakes.payment_provider.ledger import Ledger


class Settlements:
    """One task per charge that is being processed. The due time is in the ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def resume(self) -> None:
        """Take up the charges that an earlier process left unsettled."""
        for key, due in await self._ledger.file.run(charges.unsettled):
            self._task(key, due)

    async def start(self, key: str) -> None:
        """See to it that the charge is settled when due, without waiting for it."""
        due = await self._ledger.file.run(partial(charges.due_of, key=key))
        if due is not None:
            self._task(key, due)

    async def wait(self, key: str) -> None:
        """Return once the charge has its result."""
        await self.start(key)
        if task := self._tasks.get(key):
            # Shielded: a caller that goes away must not take the settlement with it.
            await asyncio.shield(task)

    async def close(self) -> None:
        """Leave the rest to the next start."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _task(self, key: str, due: str) -> None:
        if key not in self._tasks:
            task = asyncio.create_task(self._settle(key, due))
            self._tasks[key] = task
            task.add_done_callback(lambda _: self._tasks.pop(key, None))

    async def _settle(self, key: str, due: str) -> None:
        await asyncio.sleep(seconds_until(due))
        await self._ledger.file.run(partial(charges.settle, key=key))
