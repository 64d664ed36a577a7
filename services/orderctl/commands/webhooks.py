"""``orderctl webhooks``: who is told when orders end, and what became of each message."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from services.orderctl.client import Http, Shop
from services.orderctl.console import cells, note, out, print_json
from services.orderctl.options import AsJson
from services.orderctl.settings import load_settings

app = typer.Typer(
    name="webhooks", help="Webhooks: who is told when orders end.", no_args_is_help=True
)

WebhookId = Annotated[str, typer.Argument(metavar="ID", help="The webhook's id.")]


@app.command()
def register(
    url: Annotated[str, typer.Argument(help="Where messages are sent.")],
    event: Annotated[
        list[str] | None,
        typer.Option(help="order.confirmed, order.cancelled, order.needs_attention; repeatable."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Register an address. The secret that messages are signed with is shown this once.

    Examples:

      orderctl webhooks register https://shop.example/hooks

      orderctl webhooks register https://shop.example/hooks --event order.confirmed
    """
    body: dict[str, Any] = {"url": url} | ({"events": event} if event else {})
    _show_secret(_orders().call("POST", "/webhooks", json=body), json)


@app.command("list")
def list_webhooks(json: AsJson = False) -> None:
    """List the webhooks, oldest first.

    Examples:

      orderctl webhooks list
    """
    names = ("webhook_id", "status", "url", "events", "reason")
    _table(_orders().call("GET", "/webhooks"), names, json, "no webhooks")


@app.command()
def rotate(
    webhook_id: WebhookId,
    grace: Annotated[int, typer.Option(help="Seconds for which the old secret signs too.")] = (
        86_400
    ),
    json: AsJson = False,
) -> None:
    """Make a new secret, shown this once.

    Examples:

      orderctl webhooks rotate wh_0123456789abcdef01234567 --grace 3600
    """
    path = f"/webhooks/{webhook_id}/rotate"
    _show_secret(_orders().call("POST", path, json={"grace": grace}), json)


@app.command()
def disable(webhook_id: WebhookId, json: AsJson = False) -> None:
    """Send nothing more to a webhook.

    Examples:

      orderctl webhooks disable wh_0123456789abcdef01234567
    """
    found = _orders().call("POST", f"/webhooks/{webhook_id}/disable")
    if json:
        print_json(found)
    else:
        out.print(f"[green]{found['status']}[/] {found['webhook_id']}")


@app.command()
def test(webhook_id: WebhookId, json: AsJson = False) -> None:
    """Send a message of type webhook.test.

    Examples:

      orderctl webhooks test wh_0123456789abcdef01234567
    """
    _show_delivery(_orders().call("POST", f"/webhooks/{webhook_id}/test"), json)


@app.command()
def deliveries(
    webhook_id: WebhookId,
    status: Annotated[
        str | None, typer.Option(help="Only: pending, delivered, dead or cancelled.")
    ] = None,
    limit: Annotated[int, typer.Option(help="How many.", min=1, max=500)] = 100,
    json: AsJson = False,
) -> None:
    """List the newest messages to a webhook, and what became of each.

    Examples:

      orderctl webhooks deliveries wh_0123456789abcdef01234567 --status dead
    """
    params: dict[str, Any] = {"limit": limit} | ({"status": status} if status else {})
    found = _orders().call("GET", f"/webhooks/{webhook_id}/deliveries", params=params)
    names = ("delivery_id", "event_type", "key", "status", "attempts", "answer", "next_at", "error")
    _table(found["deliveries"], names, json, "no deliveries")


@app.command()
def resend(
    webhook_id: WebhookId,
    delivery_id: Annotated[str, typer.Argument(metavar="DELIVERY", help="The message's id.")],
    json: AsJson = False,
) -> None:
    """Send a message again, under its own id.

    Examples:

      orderctl webhooks resend wh_0123456789abcdef01234567 msg_0123456789abcdef
    """
    path = f"/webhooks/{webhook_id}/deliveries/{delivery_id}/resend"
    _show_delivery(_orders().call("POST", path), json)


def _orders() -> Http:
    return Shop(load_settings()).orders


def _show_secret(found: Any, json: bool) -> None:
    if json:
        print_json(found)
        return
    whose = Text.assemble(f"{found['webhook_id']} for ", (found["url"], "bold"))
    out.print(whose + "; the secret is shown this once:")
    out.print(found["secret"], soft_wrap=True)


def _show_delivery(found: Any, json: bool) -> None:
    if json:
        print_json(found)
    else:
        out.print(f"{found['delivery_id']}  [bold]{found['status']}[/]")


def _table(found: Sequence[Any], names: Sequence[str], json: bool, nothing: str) -> None:
    if json:
        print_json(found)
        return
    if not found:
        note(nothing)
        return
    table = Table(*names, box=None, pad_edge=False)
    for row in found:
        table.add_row(*cells(*(row[name] for name in names)))
    out.print(table)
