"""``orderctl cancel``: ask for an order's cancellation."""

import httpx

from services.orderctl.client import Shop, problem_text
from services.orderctl.console import out, print_json
from services.orderctl.errors import CliError
from services.orderctl.options import AsJson, OrderId
from services.orderctl.settings import load_settings


def cancel(order_id: OrderId, json: AsJson = False) -> None:
    """Ask for an order to be cancelled; one that has ended otherwise is refused.

    Example: orderctl cancel 0b54b3a4-6d0e-4b0a-9f3e-1d2c3b4a5f60
    """
    response = Shop(load_settings()).cancel(order_id)
    if response.status_code == httpx.codes.NOT_FOUND:
        raise CliError(f"there is no order {order_id}", "orderctl place shows the id it got")
    if not response.is_success:
        raise CliError(problem_text(response), f"orderctl show {order_id} shows how it ended")
    if json:
        print_json(response.json())
        return
    out.print(f"{order_id}  [bold]cancellation accepted[/]")
    out.print(f"what is undone now: orderctl show {order_id}", style="dim")
