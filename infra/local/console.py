"""Shows a start on the terminal: one line a part, the running ones with their seconds."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

console = Console(highlight=False)
errors = Console(stderr=True, highlight=False)


class Progress:
    """Lines for finished parts above, a live view of the running ones below (on a terminal)."""

    def __init__(self, target: Console = console) -> None:
        self._console = target
        self._running: dict[str, float] = {}
        self._words: dict[str, str] = {}

    @contextmanager
    def shown(self) -> Iterator["Progress"]:
        """Show the running parts for as long as the block lasts."""
        with Live(
            get_renderable=self._view,
            console=self._console,
            refresh_per_second=4,
            transient=True,
            auto_refresh=self._console.is_terminal,
        ):
            yield self

    def began(self, name: str) -> bool:
        """A part has begun; says whether that is news."""
        new = name not in self._running
        self._running.setdefault(name, time.monotonic())
        return new

    def say(self, name: str, words: str) -> None:
        """What a running part is doing."""
        self._words[name] = words

    def ended(self, name: str, seconds: float, words: str) -> None:
        """A part is done."""
        self._finish(name, Text("✓", "green"), seconds, words)

    def failed(self, name: str, seconds: float, error: BaseException) -> None:
        """A part has failed; the first failure is told in full at the end."""
        reason = f"{type(error).__name__}: {error}"
        self._finish(name, Text("✗", "red"), seconds, reason.splitlines()[0])

    def _finish(self, name: str, mark: Text, seconds: float, words: str) -> None:
        self._running.pop(name, None)
        line = Text.assemble(mark, f" {name:<16} {seconds:5.1f} s  ", (words, "dim"))
        self._console.print(line, soft_wrap=True)

    def _view(self) -> Table:
        table = Table.grid(padding=(0, 1))
        for name, start in list(self._running.items()):
            seconds = f"{time.monotonic() - start:5.1f} s "
            table.add_row("…", f"{name:<16}", seconds, Text(self._words.get(name, ""), "dim"))
        return table
