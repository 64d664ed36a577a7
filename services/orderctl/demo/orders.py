"""Places the demo's orders and waits until all is settled."""

from services.orderctl.client import Shop
from services.orderctl.commands.load import measure
from services.orderctl.errors import CliError
from services.orderctl.load.orders import prepare
from services.orderctl.load.report import Report
from services.orderctl.load.runner import Placed, Plan, Runner
from services.orderctl.mix import (
    CANCEL_AFTER_CAPTURE,
    CANCEL_BEFORE_CAPTURE,
    CONFIRMED,
    OUT_OF_STOCK,
    PAYMENT_DECLINED,
    PAYMENT_TIMEOUT,
    REFUND_FAILS,
    deal,
)
from services.orderctl.settings import Settings

ORDERS = {
    CONFIRMED: 12,
    OUT_OF_STOCK: 4,
    PAYMENT_DECLINED: 4,
    CANCEL_BEFORE_CAPTURE: 3,
    CANCEL_AFTER_CAPTURE: 3,
    PAYMENT_TIMEOUT: 3,
    REFUND_FAILS: 1,
}
"""Kind -> how many."""


def place_all(settings: Settings, shop: Shop) -> tuple[list[Placed], Report]:
    """Place every order and wait for its ending; CliError when one is refused or hangs."""
    count = sum(ORDERS.values())
    prepare(shop, count)
    plan = Plan(rate=10.0, orders=count, duration=None, clients=4)
    runner = Runner(shop, plan, deal(ORDERS, seed=1))
    report = measure(settings, runner, timeout=60.0)
    if report.failed:
        raise CliError(f"placing failed: {report.errors[0]}", "make status shows what is down")
    if report.unfinished:
        raise CliError(
            f"{len(report.unfinished)} orders have not ended, such as {report.unfinished[0]}",
            f"orderctl show {report.unfinished[0]} names what it waits for; orderctl lag, who lags",
        )
    return runner.run.placed, report


def one_of_each(placed: list[Placed]) -> dict[str, str]:
    """Kind -> the id of one order of it."""
    return {kind: next(o.order_id for o in placed if o.kind.name == kind) for kind in ORDERS}
