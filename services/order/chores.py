"""What the order service does besides its work: count waiting orders, forget old keys."""

from collections.abc import Sequence
from datetime import timedelta

import sqlalchemy as sa

from services.eventkit.retention import prune
from services.eventkit.service import Runtime
from services.eventkit.upkeep import Chore
from services.order.changes import OLD
from services.order.domain import Order
from services.order.settings import OrderSettings
from services.order.waiting import Count
from services.order.webhook_store import OLD as OLD_DELIVERIES

_OLD_KEYS = """
DELETE FROM idempotency_keys WHERE (tenant_id, route, key) IN (
    SELECT tenant_id, route, key FROM idempotency_keys WHERE created_at < :before
    ORDER BY created_at LIMIT :batch)"""


def chores(runtime: Runtime[Order, OrderSettings]) -> Sequence[Chore]:
    """The chores of a running order service."""
    settings, db = runtime.settings, runtime.db
    keep, often = timedelta(seconds=settings.key_retention), min(600.0, settings.key_retention / 10)
    week = timedelta(seconds=settings.retention)
    told = timedelta(seconds=settings.change_retention)
    return (
        Chore("count_waiting", settings.waiting_look, Count(db, settings).look),
        Chore("prune_keys", often, lambda: prune_keys(db, keep)),
        Chore("prune_deliveries", often, lambda: prune(db, "deliveries", OLD_DELIVERIES, week)),
        Chore("prune_changes", often, lambda: prune(db, "order_changes", OLD, told)),
    )


def prune_keys(db: sa.Engine, keep: timedelta) -> int:
    """Deletes idempotency keys older than ``keep``; how many."""
    return prune(db, "idempotency_keys", _OLD_KEYS, keep)
