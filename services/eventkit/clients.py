"""What a service whose clients wait keeps for them, and for how long."""

from collections.abc import Sequence
from datetime import timedelta

import sqlalchemy as sa

from services.eventkit.changes import ChangeLog
from services.eventkit.idempotency import prune_keys
from services.eventkit.retention import prune
from services.eventkit.settings import ClientSettings
from services.eventkit.upkeep import Chore


def client_chores(db: sa.Engine, settings: ClientSettings, log: ChangeLog) -> Sequence[Chore]:
    """Forget idempotency keys and what streams told."""
    keys = timedelta(seconds=settings.key_retention)
    told = timedelta(seconds=settings.change_retention)
    often = min(600.0, settings.key_retention / 10)
    return (
        Chore("prune_keys", often, lambda: prune_keys(db, keys)),
        Chore("prune_changes", often, lambda: prune(db, log.table, log.old, told)),
    )
