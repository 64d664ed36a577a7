"""``orderctl stuck``: orders that wait too long, and what is in their way."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.text import Text

from services.order.settings import Budgets
from services.orderctl.console import note, out, print_json
from services.orderctl.options import AsJson
from services.orderctl.settings import env_file, load_settings
from services.orderctl.stuck import causes, facts, surroundings, waiting
from services.orderctl.stuck.causes import Cause
from services.orderctl.stuck.waiting import WaitingOrder

LIMIT = 50


def stuck(
    budget: Annotated[
        float | None,
        typer.Option(help="Seconds that every step may take, instead of its own budget.", min=0),
    ] = None,
    limit: Annotated[int, typer.Option(help="Look into so many orders at most.")] = LIMIT,
    json: AsJson = False,
) -> None:
    """Name every order that waits longer than its budget, with the step and the cause.

    The budgets are SAGA_STOCK_BUDGET, SAGA_PAYMENT_BUDGET and SAGA_UNDO_BUDGET. Exit code 1 when
    an order is stuck.

    Examples:

      orderctl stuck

      orderctl stuck --budget 5 --json
    """
    settings = load_settings()
    budgets = Budgets(_env_file=env_file())  # type: ignore[call-arg]
    late = waiting.over_budget(settings, budgets.of if budget is None else lambda _: budget)
    now = datetime.now(UTC)
    around = surroundings.look(settings) if late else causes.Surroundings()
    found = [(order, causes.causes(order, _facts(order), around, now)) for order in late[:limit]]
    if json:
        print_json([causes.as_json(order, why, now) for order, why in found])
    else:
        _show(found, now)
    if len(late) > limit:
        note(f"and {len(late) - limit} more; --limit looks into more of them")
    if late:
        raise typer.Exit(1)


def _facts(order: WaitingOrder) -> facts.Facts:
    return facts.load(load_settings(), order.order_id, surroundings.SERVICES)


def _show(found: Sequence[tuple[WaitingOrder, list[Cause]]], now: datetime) -> None:
    if not found:
        out.print("[green]no order is stuck[/]")
    for order, why in found:
        since = f"{order.seconds(now):.0f} s, since {order.since:%H:%M:%S}"
        out.print(f"[bold]{order.order_id}[/] waits for [yellow]{order.step}[/] for {since}")
        for cause in why:
            out.print(Text(f"  {cause.service}: {cause.text}"))
            if cause.remedy:
                out.print(Text(f"    -> {cause.remedy}", style="dim"))
    if found:
        note("orderctl repair ORDER re-issues what is missing")
