"""A durable SQLite file with one writer: what has been committed survives a kill."""

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


class DurableFile:
    """A SQLite database whose work runs in one thread, one transaction at a time.

    The single thread is what makes two requests under the same key take turns.
    """

    def __init__(self, path: Path, schema: str) -> None:
        """Open or create the file at ``path``; ``schema`` must be safe to run again."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=path.stem)
        self._connection = self._thread.submit(_open, path, schema).result()

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` in a transaction of its own and return its result once it is on disk.

        An exception from ``work`` rolls the transaction back and reaches the caller.
        """
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._transact, work)

    def close(self) -> None:
        """Finish the work already handed over, then close the file."""
        self._thread.submit(self._connection.close).result()
        self._thread.shutdown()

    def _transact(self, work: Callable[[sqlite3.Connection], T]) -> T:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            result = work(self._connection)
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
        return result


def _open(path: Path, schema: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA journal_mode = WAL")
    # FULL makes every commit wait for the disk; WAL alone would lose the last ones in a power cut.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.executescript(schema)
    return connection
