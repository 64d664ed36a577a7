"""Orders that wait: how many at which step, and which have waited for longer than they should."""

from collections.abc import Mapping
from typing import Final

import sqlalchemy as sa
from prometheus_client import Gauge

from services.order.settings import Budgets

OPEN: Final = Gauge("saga_open_orders", "Orders that wait for a step", ["step"])
STUCK: Final = Gauge(
    "saga_stuck_orders", "Orders that wait for a step longer than its budget", ["step"]
)

WAITING: Final = """
SELECT order_id, pay_by,
       CASE WHEN status = 'cancelled' THEN CASE WHEN stock = 'reserved' THEN 'release'
                                                ELSE 'refund' END
            WHEN stock = 'requested' THEN 'stock' ELSE 'payment' END AS step,
       CASE WHEN status = 'cancelled' THEN updated_at ELSE waiting_since END AS since
FROM orders
WHERE status = 'pending'
   OR status = 'cancelled' AND (stock = 'reserved' OR payment = 'captured')"""
"""Every order that is not at rest: pending, or cancelled with something still to be undone."""

_COUNT = sa.text(f"""
WITH waiting AS ({WAITING}),
     budget (step, seconds) AS (VALUES {{budgets}})
SELECT step, count(order_id) AS open,
       count(order_id) FILTER (WHERE since < now() - seconds * interval '1 s') AS stuck
FROM budget LEFT JOIN waiting USING (step) GROUP BY step""".format(  # noqa: S608
    budgets="('stock', :stock), ('payment', :payment), ('release', :undo), ('refund', :undo)"
))  # fmt: skip


class Count:
    """Counts waiting orders for the metrics, in one query however often they are read."""

    def __init__(self, db: sa.Engine, budgets: Budgets) -> None:
        self._db = db
        self._values: Mapping[str, float] = {
            "stock": budgets.stock_budget,
            "payment": budgets.payment_budget,
            "undo": budgets.undo_budget,
        }

    def look(self) -> None:
        """One look."""
        with self._db.connect() as conn:
            for step, open_, stuck in conn.execute(_COUNT, dict(self._values)):
                OPEN.labels(step).set(open_)
                STUCK.labels(step).set(stuck)
