"""Choices made by bytes, so that one draw decides many of them and zeros decide the simplest."""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """Bytes that are used up one choice at a time; after the last one every choice is the first."""

    def __init__(self, thrown: bytes) -> None:
        self._left = list(reversed(thrown))

    def __bool__(self) -> bool:
        return bool(self._left)

    def number(self) -> int:
        """The next number, 0 to 255."""
        return self._left.pop() if self._left else 0

    def pick(self, options: Sequence[T]) -> T | None:
        """One of the options, or None where there is none."""
        number = self.number()
        return options[number % len(options)] if options else None

    def one_of(self, options: Sequence[T]) -> T:
        """One of the options, of which there is at least one."""
        return options[self.number() % len(options)]
