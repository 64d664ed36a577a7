"""What inventory forgets: files that were read, and imports long after they ended."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from services.eventkit.clients import client_chores
from services.eventkit.retention import prune
from services.eventkit.service import Runtime
from services.eventkit.upkeep import Chore
from services.inventory import import_store
from services.inventory.settings import InventorySettings

UPLOAD = timedelta(hours=1)
"""The longest that a file may take to arrive."""


def chores(runtime: Runtime[Any, InventorySettings]) -> Sequence[Chore]:
    """The chores of a running inventory."""
    settings, db = runtime.settings, runtime.db
    keep = timedelta(seconds=settings.import_keep)
    often = min(600.0, settings.import_keep / 10)
    forget = (
        ("import_chunks", import_store.OLD_CHUNKS, UPLOAD),
        ("import_rows", import_store.OLD_ROWS, timedelta(0)),
        ("import_errors", import_store.OLD_ERRORS, keep),
        ("imports", import_store.OLD_IMPORTS, keep),
    )

    def forgetting(table: str, statement: str, age: timedelta) -> Chore:
        return Chore(f"prune_{table}", often, lambda: prune(db, table, statement, age))

    return (*(forgetting(*one) for one in forget), *client_chores(db, settings, import_store.LOG))
