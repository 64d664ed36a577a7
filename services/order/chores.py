"""What the order service does besides its work: count waiting orders, forget old keys."""

from collections.abc import Sequence
from datetime import timedelta

from services.eventkit.clients import client_chores
from services.eventkit.retention import prune
from services.eventkit.service import Runtime
from services.eventkit.upkeep import Chore
from services.order.changes import LOG
from services.order.domain import Order
from services.order.settings import OrderSettings
from services.order.waiting import Count
from services.order.webhook_store import OLD as OLD_DELIVERIES


def chores(runtime: Runtime[Order, OrderSettings]) -> Sequence[Chore]:
    """The chores of a running order service."""
    settings, db = runtime.settings, runtime.db
    often = min(600.0, settings.key_retention / 10)
    week = timedelta(seconds=settings.retention)
    return (
        Chore("count_waiting", settings.waiting_look, Count(db, settings).look),
        Chore("prune_deliveries", often, lambda: prune(db, "deliveries", OLD_DELIVERIES, week)),
        *client_chores(db, settings, LOG),
    )
