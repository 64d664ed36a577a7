"""Pace: fewer orders are let in while placing them is slow, and all again when it is not."""

import math
from collections.abc import Callable

from services.order.pace import Pace

QUIET, CAPACITY = 0.010, 20.0
"""How long placing takes at quiet times (seconds), and orders a second that can be placed."""


class Machine:
    """A machine that does ``CAPACITY`` orders a second: the more it has to do, the slower."""

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self.now = 1000.0
        self._free_at = self.now

    def offer(
        self, rate: float, seconds: float, after: float = 0.0
    ) -> tuple[int, int, list[float]]:
        """Offers so many a second; accepted and refused ones, and what the accepted took.

        Counts from ``after`` seconds on.
        """
        accepted, refused, took = 0, 0, []
        begin = self.now
        for number in range(int(rate * seconds)):
            self.now = begin + number / rate
            counts = self.now - begin >= after
            if not self.pace.lets_in(self.now):
                refused += counts
                continue
            self._free_at = max(self._free_at + 1 / CAPACITY, self.now + QUIET)
            self.pace.placed(self._free_at - self.now, self.now)
            if counts:
                accepted += 1
                took.append(self._free_at - self.now)
        return accepted, refused, took


def machine(slower: float = 3.0) -> Machine:
    return Machine(Pace(slower, 0.02, 1000.0))


def test_nobody_is_refused_while_placing_is_quick() -> None:
    accepted, refused, _ = machine().offer(CAPACITY / 2, 120)
    assert (accepted, refused) == (CAPACITY / 2 * 120, 0)


def test_at_twice_the_capacity_those_let_in_are_placed_quickly() -> None:
    shop = machine()
    shop.offer(CAPACITY / 2, 60)
    accepted, refused, took = shop.offer(2 * CAPACITY, 70, after=10)
    assert refused
    assert 0.7 * CAPACITY * 60 < accepted <= CAPACITY * 60
    assert sorted(took)[int(0.95 * len(took))] < 10 * QUIET


def test_all_are_let_in_again_when_no_more_come_than_can_be_placed() -> None:
    shop = machine()
    shop.offer(CAPACITY / 2, 30)
    assert shop.offer(2 * CAPACITY, 30)[1]
    assert shop.offer(CAPACITY / 2, 60, after=20)[1] == 0


def test_a_quiet_while_is_enough_to_forget() -> None:
    shop = machine()
    shop.offer(CAPACITY / 2, 30)
    shop.offer(2 * CAPACITY, 30)
    assert shop.pace.rate is not None
    shop.now += 11
    assert shop.pace.lets_in(shop.now)
    assert shop.pace.rate is None


def test_a_burst_is_let_in_as_a_whole() -> None:
    shop = machine()
    shop.offer(CAPACITY / 2, 30)
    shop.now += 5
    assert all(shop.pace.lets_in(shop.now) for _ in range(100))


def test_who_waited_while_a_line_grew_is_sent_away_once_it_is_plain() -> None:
    pace = Pace(3.0, 0.02, 1000.0)
    for number in range(100):
        pace.placed(QUIET, 1000.0 + number / 10)
    assert not pace.is_too_late(0.5)  # a burst, as far as anybody knows
    for number in range(10):
        pace.placed(0.5, 1010.0 + number / 10)
    assert pace.is_too_late(0.5) and not pace.is_too_late(QUIET)


def test_one_slow_moment_refuses_nobody() -> None:
    def offered(took: Callable[[int], float]) -> list[bool]:
        pace = Pace(3.0, 0.02, 1000.0)
        told = []
        for number in range(400):
            now = 1000.0 + number / 10
            told.append(pace.lets_in(now))
            pace.placed(took(number), now)
        return told

    assert all(offered(lambda number: 0.05 if 200 <= number < 206 else QUIET))
    assert not all(offered(lambda number: 0.05 if 200 <= number < 300 else QUIET))


def test_few_are_let_in_however_slow_it_is() -> None:
    pace = Pace(3.0, 0.02, 1000.0)
    for number in range(100):
        pace.placed(QUIET, 1000.0 + number / 10)
    for number in range(600):
        now = 1010.0 + number / 10
        if pace.lets_in(now):
            pace.placed(30.0, now)
    assert pace.rate == 5.0


def test_without_a_limit_nobody_is_refused() -> None:
    shop = machine(slower=math.inf)
    shop.offer(CAPACITY / 2, 30)
    assert shop.offer(3 * CAPACITY, 60)[1] == 0
