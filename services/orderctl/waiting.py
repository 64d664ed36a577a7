"""Waiting for the ending of an order."""

import time
from typing import Any

from services.orderctl.client import Shop
from services.orderctl.errors import CliError

ENDINGS = {"confirmed", "cancelled", "needs_attention"}
POLL = 0.1


def ending_of(order: dict[str, Any]) -> str | None:
    """``confirmed``, ``cancelled:<reason>``, ``needs_attention``; None while it is pending."""
    status = order["status"]
    if status not in ENDINGS:
        return None
    return f"cancelled:{order['reason']}" if status == "cancelled" else str(status)


def wait_for_ending(shop: Shop, order_id: str, timeout: float) -> Any:
    """The order once it has ended; CliError naming the step it waits for when it takes longer."""
    deadline = time.monotonic() + timeout
    while True:
        order = shop.order(order_id)
        if ending_of(order):
            return order
        if time.monotonic() > deadline:
            step = (order.get("waiting_for") or {}).get("step", "nothing")
            raise CliError(
                f"order {order_id} is still {order['status']} after {timeout:.0f} s, "
                f"waiting for {step}",
                f"orderctl watch {order_id} goes on waiting; orderctl lag shows who is behind",
            )
        time.sleep(POLL)
