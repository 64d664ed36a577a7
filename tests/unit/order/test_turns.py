"""Turns: a burst is let in as a whole, a line that stays is not made longer."""

import asyncio

import pytest

from services.order.turns import NoTurn, Turns

PROMPT = 0.02


class Clock:
    """A clock that only the test moves."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Place:
    """One at work until it is told to end."""

    def __init__(self, turns: Turns) -> None:
        self._end = asyncio.Event()
        self._task = asyncio.create_task(self._work(turns))
        self.working = False

    async def _work(self, turns: Turns) -> None:
        async with turns.turn():
            self.working = True
            await self._end.wait()

    async def end(self) -> None:
        self._end.set()
        await self._task


async def come(turns: Turns) -> Place:
    place = Place(turns)
    await asyncio.sleep(0)  # lets it come as far as it gets
    await asyncio.sleep(0)
    return place


async def crowd(turns: Turns, clock: Clock) -> Place:
    """Makes a line that has stood for more than a second, and whose first one has its turn."""
    first, second = await come(turns), await come(turns)
    clock.now += 1.1
    await first.end()
    await asyncio.sleep(0)
    assert second.working
    return second


def test_as_many_as_may_are_at_work_and_the_others_follow() -> None:
    async def run() -> None:
        turns = Turns(2, PROMPT, Clock())
        places = [await come(turns) for _ in range(4)]
        assert [place.working for place in places] == [True, True, False, False]
        await places[1].end()
        await asyncio.sleep(0)
        assert [place.working for place in places] == [True, True, True, False]
        for place in (places[0], *places[2:]):
            await place.end()

    asyncio.run(run())


def test_a_burst_is_let_in_however_long_its_last_one_waits() -> None:
    async def run() -> None:
        clock = Clock()
        turns = Turns(1, PROMPT, clock)
        burst = [await come(turns) for _ in range(20)]
        await asyncio.sleep(2 * PROMPT)
        for place in burst:
            clock.now += 0.05  # its work; the first of them are prompt
            await place.end()
        assert all(place.working for place in burst)

    asyncio.run(run())


def test_where_there_is_always_a_line_nobody_waits_long() -> None:
    async def run() -> None:
        clock = Clock()
        turns = Turns(1, PROMPT, clock)
        at_work = await crowd(turns, clock)
        assert turns.always_a_line
        with pytest.raises(NoTurn):
            async with turns.turn():
                pass
        await at_work.end()
        async with turns.turn():  # nobody is in front
            pass

    asyncio.run(run())


def test_a_line_that_has_gone_is_forgotten_after_a_while() -> None:
    async def run() -> None:
        clock = Clock()
        turns = Turns(1, PROMPT, clock)
        await (await crowd(turns, clock)).end()
        clock.now += 4.9
        assert turns.always_a_line
        clock.now += 0.2
        assert not turns.always_a_line

    asyncio.run(run())


def test_who_gives_up_takes_nobodys_turn() -> None:
    async def run() -> None:
        turns = Turns(1, PROMPT, Clock())
        first = await come(turns)
        gone = asyncio.create_task(turns.turn().__aenter__())
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        await first.end()
        async with turns.turn():
            pass

    asyncio.run(run())
