"""Turns: so many at work at once; the others stand in line, and not for long once it is always one.

A burst is let in as a whole, however long its last one waits (within reason). A line that does not
get shorter is another thing: what waits in it is only later, not more. So once nobody has got a
turn promptly for a while, whoever comes is told at once to come back. The idea is that of
"Controlling Queue Delay" (Nichols and Jacobson, ACM Queue 10, 2012).
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

_MOST = 5.0
"""How long one of a burst may wait."""
_ALWAYS = 1.0
"""For how long nobody had a prompt turn where there is always a line."""
_CALM = 5.0
"""For how long nobody may have waited until bursts are let in again."""


class NoTurn(Exception):
    """It was not one's turn in time."""


class Turns:
    """``at_once`` have a turn at the same moment; one is prompt within ``prompt`` seconds.

    For one event loop. ``clock`` is in seconds.
    """

    def __init__(
        self, at_once: int, prompt: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._free = asyncio.Semaphore(at_once)
        self._prompt = prompt
        self._clock = clock
        self._last_prompt = clock()
        self._line_until = clock()

    @property
    def always_a_line(self) -> bool:
        """Whether newcomers wait no longer than a prompt turn takes."""
        return self._clock() < self._line_until

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Waits for a turn and has it. Raises `NoTurn` where it does not come in time."""
        came = self._clock()
        try:
            async with asyncio.timeout(self._prompt if self.always_a_line else _MOST):
                await self._free.acquire()
        except TimeoutError:
            self._late()
            raise NoTurn from None
        try:
            if self._clock() - came > self._prompt:
                self._late()
            else:
                self._last_prompt = self._clock()
            yield
        finally:
            self._free.release()

    def _late(self) -> None:
        now = self._clock()
        if self.always_a_line or now - self._last_prompt > _ALWAYS:
            self._line_until = now + _CALM
