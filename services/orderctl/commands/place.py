"""``orderctl place``: place one order."""

from typing import Annotated, Any

import typer

from services.orderctl.client import Shop
from services.orderctl.console import out, print_json
from services.orderctl.lines import parse_line
from services.orderctl.options import AsJson
from services.orderctl.settings import load_settings
from services.orderctl.waiting import ending_of, wait_for_ending

OK = "tok_ok"
Lines = Annotated[list[str], typer.Option("--line", "-l", help="sku:quantity:price; repeatable.")]


def place(
    line: Lines = ["MUG-01:1:1250"],  # noqa: B006 - typer reads the default, nobody changes it
    customer: Annotated[str, typer.Option(help="Who orders.")] = "customer-1",
    currency: Annotated[str, typer.Option(help="ISO 4217 code of the prices.")] = "EUR",
    token: Annotated[str, typer.Option(help="Payment token; decides how the charge goes.")] = OK,
    pay_within: Annotated[int | None, typer.Option(help="Seconds until an unpaid order ends.")] = (
        None
    ),
    key: Annotated[str | None, typer.Option(help="Idempotency key: a repeat is answered.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the ending.")] = False,
    timeout: Annotated[float, typer.Option(help="Seconds to wait at most.")] = 30.0,
    json: AsJson = False,
) -> None:
    """Place one order.

    Prices are in minor units. Tokens: tok_ok, tok_declined, tok_slow_2000,
    tok_flaky_3, tok_timeout_then_ok; composable: tok_slow_2000.refund_fails.

    Examples:

      orderctl place --wait

      orderctl place -l MUG-01:2:1250 -l MUG-02:1:900 --token tok_declined --wait
    """
    body: dict[str, Any] = {
        "customer_id": customer,
        "currency": currency,
        "payment_token": token,
        "lines": [parse_line(text) for text in line],
    }
    if pay_within is not None:
        body["pay_within"] = pay_within
    shop = Shop(load_settings())
    accepted = shop.place(body, {"Idempotency-Key": key} if key else None)
    order_id = accepted["order_id"]
    if not wait:
        _show_accepted(accepted, json)
        return
    order = wait_for_ending(shop, order_id, timeout)
    if json:
        print_json(order)
    else:
        out.print(f"{order_id}  [bold]{ending_of(order)}[/]")


def _show_accepted(accepted: Any, json: bool) -> None:
    if json:
        print_json(accepted)
        return
    order_id = accepted["order_id"]
    out.print(f"{order_id}  [bold]{accepted['status']}[/]")
    out.print(f"follow it with: orderctl watch {order_id}", style="dim")
