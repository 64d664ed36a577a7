"""What a check found."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """How many things were looked at, and one line for each that is not as it must be."""

    checked: int
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """True when nothing is wrong."""
        return not self.problems


def finding(checked: int, problems: Iterable[str]) -> Finding:
    """A finding from any iterable of problems."""
    return Finding(checked, tuple(problems))
