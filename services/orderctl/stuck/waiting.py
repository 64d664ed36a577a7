"""The orders that wait longer than they should, read from the order database."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa

from services.order.waiting import WAITING
from services.orderctl.settings import Settings
from services.orderctl.verify.databases import reading


@dataclass(frozen=True, slots=True)
class WaitingOrder:
    """An order that is not at rest. ``pay_by`` ends a pending one, but not an undo."""

    order_id: str
    step: str
    since: datetime
    pay_by: datetime

    def seconds(self, now: datetime) -> float:
        """For how long it has waited."""
        return (now - self.since).total_seconds()


def over_budget(settings: Settings, budget_of: Callable[[str], float]) -> list[WaitingOrder]:
    """Those that have waited for longer than the budget of their step, the longest wait first."""
    with reading(settings, "order") as conn:
        rows = conn.execute(sa.text(WAITING)).mappings()
        found = [WaitingOrder(**row) for row in rows]
    now = datetime.now(UTC)
    late = [order for order in found if order.seconds(now) > budget_of(order.step)]
    return sorted(late, key=lambda order: order.since)
