"""``orderctl load``: many orders of every kind, and what they took."""

from typing import Annotated

import typer

from services.eventkit.codec import Codec
from services.eventkit.schemas import Schemas
from services.orderctl.client import Shop
from services.orderctl.console import note, print_json
from services.orderctl.errors import CliError
from services.orderctl.load.observer import Observer
from services.orderctl.load.orders import prepare
from services.orderctl.load.progress import follow
from services.orderctl.load.report import Report, build
from services.orderctl.load.report_table import show_report
from services.orderctl.load.runner import Plan, Runner
from services.orderctl.mix import DEFAULT_MIX, deal, parse_mix
from services.orderctl.options import AsJson
from services.orderctl.settings import Settings, load_settings

MOST_PER_SECOND = 1000
"""Only to book in enough goods for a load that is limited by time alone."""


def load(
    rate: Annotated[float | None, typer.Option(help="Orders a second. Default: 10.")] = None,
    fastest: Annotated[bool, typer.Option("--max", help="As fast as the clients can.")] = False,
    orders: Annotated[int | None, typer.Option(help="Place this many. Default: 200.")] = None,
    duration: Annotated[float | None, typer.Option(help="Place for this many seconds.")] = None,
    clients: Annotated[int, typer.Option(help="Concurrent clients.", min=1, max=200)] = 20,
    mix: Annotated[str, typer.Option(help="Kinds of orders and their weights.")] = DEFAULT_MIX,
    seed: Annotated[int, typer.Option(help="Same seed, same sequence of kinds.")] = 1,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for the last ending.")] = 60.0,
    json: AsJson = False,
) -> None:
    """Place many orders of every kind and measure how long they take to their ending.

    The relay hop (outbox row to reader) is measured in the same run: the latency
    of a saga is mostly that hop, several times. Exit code 1 when an order was
    refused or did not end.

    Examples:

      orderctl load --rate 50 --duration 60 --mix confirmed=1

      orderctl load --max --orders 200 --clients 20
    """
    plan = make_plan(rate, fastest, orders, duration, clients)
    weights = parse_mix(mix)
    settings = load_settings()
    shop = Shop(settings, connections=clients)
    note("booking in goods and registering customers")
    prepare(shop, plan.orders or int((plan.rate or MOST_PER_SECOND) * (plan.duration or 0)) + 1)
    report = measure(settings, Runner(shop, plan, deal(weights, seed)), timeout)
    if json:
        print_json(report.as_json())
    else:
        show_report(report)
    if report.failed or report.unfinished:
        raise typer.Exit(1)


def make_plan(
    rate: float | None, fastest: bool, orders: int | None, duration: float | None, clients: int
) -> Plan:
    """The plan these options ask for; CliError where they contradict each other."""
    if fastest and rate is not None:
        raise CliError("--rate and --max exclude each other", code=2)
    if rate is not None and rate <= 0:
        raise CliError("--rate must be positive", code=2)
    if orders is None and duration is None:
        orders = 200
    return Plan(None if fastest else rate or 10.0, orders, duration, clients)


def measure(settings: Settings, runner: Runner, timeout: float) -> Report:
    """Run the load to the last ending and report."""
    observer = Observer(settings.kafka_bootstrap, Codec(Schemas.load(), settings.registry_url))
    observer.start()
    try:
        runner.start()
        follow(runner, observer, timeout)
    finally:
        observer.stop()
    placed = {order.order_id for order in runner.run.placed}
    return build(runner.run, observer.endings, observer.hop_ms(placed))
