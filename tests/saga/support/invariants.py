"""The invariants of ``orderctl verify``, looked at for a test's own orders and goods.

The stack may have other data, and some tests put records on topics that no service wrote.
"""

from collections.abc import Collection
from dataclasses import replace

from services.orderctl.client import Shop
from services.orderctl.settings import Settings
from services.orderctl.verify.data import Snapshot
from services.orderctl.verify.quiet import Motion, wait_for_quiet
from services.orderctl.verify.run import run_checks
from services.orderctl.verify.snapshot import load_snapshot
from tests.saga.support.wait import eventually

CALM_SECONDS = 20.0
"""What is still wrong so long after all has come to rest is wrong."""


def check(
    settings: Settings,
    shop: Shop,
    orders: Collection[str],
    skus: Collection[str],
    produced: Collection[str],
    seconds: float = 60.0,
) -> None:
    """Waits for quiet; every invariant must hold for these orders and these goods.

    ``produced`` are the ids of records that the test itself put on a topic.
    """
    moving = wait_for_quiet(settings, seconds)

    def hold() -> None:
        # A relay that has just been restarted can look quiet with rows still to be published.
        snapshot = load_snapshot(settings, shop)
        assert set(orders) <= snapshot.orders.keys(), "an accepted order is not in the database"
        problems = _problems(_of(snapshot, orders, skus, produced), moving)
        assert not problems, "\n".join(problems)

    eventually(hold, CALM_SECONDS)


def _problems(snapshot: Snapshot, moving: Motion | None) -> list[str]:
    return [
        f"{result.name}: {problem}"
        for result in run_checks(snapshot, moving)
        for problem in result.finding.problems
    ]


def _of(
    snapshot: Snapshot, orders: Collection[str], skus: Collection[str], produced: Collection[str]
) -> Snapshot:
    keys = {order_id.encode() for order_id in orders}
    return replace(
        snapshot,
        orders={key: row for key, row in snapshot.orders.items() if key in orders},
        reservations={k: row for k, row in snapshot.reservations.items() if k in orders},
        stock={goods: row for goods, row in snapshot.stock.items() if goods[1] in skus},
        payments={key: row for key, row in snapshot.payments.items() if key in orders},
        ledger=[entry for entry in snapshot.ledger if entry.order_id in orders],
        messages=[message for message in snapshot.messages if message.order_id in orders],
        mails=[mail for mail in snapshot.mails if mail.order_id in orders],
        outbox=[row for row in snapshot.outbox if row.key in orders],
        records=[
            record
            for record in snapshot.records
            if record.key in keys and record.message_id not in produced
        ],
        views={key: row for key, row in snapshot.views.items() if key in orders},
        figures={key: row for key, row in snapshot.figures.items() if key in orders},
        letters=[letter for letter in snapshot.letters if letter.key in orders],
    )
