"""Pace: how many orders a second are let in, found by how long placing them takes.

Little of what an order costs is spent while it is placed, but all of it is spent on the same
machine: where that has too much to do, placing takes longer at once, long before anybody is behind.
So placing is timed. Where it takes several times what it takes at quiet times, fewer are let in
than were placed; where not, a few more than before, until nobody is refused any more. Additive
increase, multiplicative decrease: Jacobson, "Congestion Avoidance and Control" (1988); that a delay
is compared with that of quiet times: Brakmo and Peterson, "TCP Vegas" (1995).
"""

from collections import deque
from statistics import median

_WINDOW = 0.5
"""Seconds that are looked at together."""
_ENOUGH = 5
"""Orders without which a window says nothing."""
_REMEMBERED = 120
"""Windows that say what is usual: a fifth of them were quicker."""
_SHOWN = 10
"""Windows that have shown how many can be placed: one alone may be a moment of nothing."""
_FORGOTTEN = 10.0
"""Seconds without enough orders, after which all are let in again."""
_BURST = 20.0
"""So many may come at once after a pause, or as many as may in a second."""
_LESS, _LEAST = 0.85, 5.0
"""Of what was placed, where that took too long; and orders a second at least."""
_LITTLE_MORE, _MORE = 0.25, 1.0
"""Orders a second more, where it did not; the second where it took not even half as long."""


class Pace:
    """Lets in, refuses and learns. Times are in seconds of one clock, which callers bring.

    Too long is more than ``slower`` times the usual and more than ``quick``: in two windows, or
    twice as long in one.
    """

    def __init__(self, slower: float, quick: float, now: float) -> None:
        self._slower = slower
        self._quick = quick
        self._since = self._filled_at = now
        self._took: list[float] = []
        self._refused = self._was_slow = False
        self._usual: deque[float] = deque(maxlen=_REMEMBERED)
        self._placed: deque[float] = deque(maxlen=_SHOWN)
        self._left = 0.0
        self._limit = quick
        self.rate: float | None = None
        """Orders a second that are let in; None for all."""

    def lets_in(self, now: float) -> bool:
        """Whether one more is let in."""
        self._look(now)
        if self.rate is None:
            self._left, self._filled_at = 0.0, now
            return True
        self._left = min(max(_BURST, self.rate), self._left + self.rate * (now - self._filled_at))
        self._filled_at = now
        if self._left < 1:
            self._refused = True
            return False
        self._left -= 1
        return True

    def is_too_late(self, waited: float) -> bool:
        """Whether one that was let in has waited too long for its turn to be placed any more."""
        return self.rate is not None and waited > 2 * self._limit

    def placed(self, took: float, now: float) -> None:
        """Learns how long one that was let in took."""
        self._took.append(took)
        self._look(now)

    def _look(self, now: float) -> None:
        seconds = now - self._since
        if seconds < _WINDOW:
            return
        if seconds > _FORGOTTEN:
            self.rate = None
        elif len(self._took) >= _ENOUGH:
            self._judge(median(self._took), len(self._took) / seconds)
        else:
            return
        self._since, self._took, self._refused = now, [], False

    def _judge(self, took: float, rate: float) -> None:
        self._usual.append(took)
        self._placed.append(rate)
        self._limit = max(self._quick, self._slower * sorted(self._usual)[len(self._usual) // 5])
        slow, was_slow = took > self._limit, self._was_slow
        self._was_slow = slow
        if self.rate is None:
            begins = (slow and was_slow) or took > 2 * self._limit
            self.rate = max(_LEAST, _LESS * max(self._placed)) if begins else None
        elif slow:
            self.rate = max(_LEAST, _LESS * self.rate)
        elif self._refused:
            self.rate += _LITTLE_MORE if took > self._limit / 2 else _MORE
        else:
            self.rate = None
