"""What the demo prints: timelines, a trace, addresses."""

import time
from typing import Any

from services.orderctl.client import Shop
from services.orderctl.commands.trace import read_trace, trace_id_of, waterfall_table
from services.orderctl.console import err, out
from services.orderctl.errors import CliError
from services.orderctl.load.orders import order_body
from services.orderctl.mix import CONFIRMED, KINDS
from services.orderctl.rich_timeline import timeline_table
from services.orderctl.settings import Settings
from services.orderctl.timeline import entry
from services.orderctl.waiting import ending_of, wait_for_ending
from services.orderctl.waterfall import spans

TRACE_TIMEOUT = 20.0
LAST_SPAN = "send email.events"


def heading(text: str) -> None:
    """A section's title."""
    out.print(f"\n[bold underline]{text}[/]")


def timelines(shop: Shop, examples: dict[str, str]) -> None:
    """One timeline per kind of order, as the tree of what caused what."""
    for kind, order_id in examples.items():
        view = shop.view(order_id)
        if view is None:
            raise CliError(f"the read model lacks order {order_id}", "orderctl lag shows why")
        title = f"\n[bold]{kind}[/] -> {ending_of(view)}  [dim]{order_id}[/]"
        out.print(title, soft_wrap=True)
        out.print(timeline_table([entry(item) for item in view["timeline"]]))


def one_trace(shop: Shop) -> None:
    """Place one more order and draw its trace; says so where Jaeger is still being built."""
    try:
        read_trace(shop, "0" * 31 + "1")
    except CliError as error:
        out.print(f"{error.message}: {error.next_step}", markup=False)
        return
    accepted = shop.place(order_body(KINDS[CONFIRMED], number=1))
    order = wait_for_ending(shop, accepted["order_id"], timeout=30.0)
    found = _whole_trace(shop, trace_id_of(shop, order["order_id"]))
    out.print(f"order {order['order_id']} {ending_of(order)}")
    out.print(waterfall_table(spans(found)))


def _whole_trace(shop: Shop, trace_id: str) -> dict[str, Any]:
    """The trace once the mail's spans are there too; spans come in a second after the fact."""
    deadline = time.monotonic() + TRACE_TIMEOUT
    with err.status("waiting for the spans"):
        while True:
            found = read_trace(shop, trace_id)
            if found and any(s["operationName"] == LAST_SPAN for s in found["spans"]):
                return found
            if time.monotonic() > deadline:
                raise CliError(f"trace {trace_id} did not become whole in {TRACE_TIMEOUT:.0f} s")
            time.sleep(0.3)


def addresses(settings: Settings, command: str) -> None:
    """Where to go on."""
    for name, address in {
        "order API": f"{settings.order_url}/docs",
        "read model": f"{settings.projector_url}/docs",
        "figures": f"{settings.analytics_url}/figures",
        "arrived mails": f"{settings.mail_url}/messages",
        "payment provider": f"{settings.provider_url}/ledger",
        "Jaeger": f"{settings.jaeger_url} (or {command} trace ORDER_ID)",
        "schema registry": settings.registry_url.split("/apis/")[0],
        "Kafka Connect": f"{settings.connect_url}/connectors",
        "place an order": f"{command} place --wait",
        "all commands": f"{command} --help",
    }.items():
        out.print(f"[dim]{name:<17}[/]{address}", soft_wrap=True)
