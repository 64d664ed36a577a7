"""``orderctl replay``: have the read model read a topic again."""

from typing import Annotated

import sqlalchemy as sa
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from services.orderctl.console import err, out, print_json
from services.orderctl.errors import CliError
from services.orderctl.options import AsJson
from services.orderctl.settings import Settings, load_settings, missing
from services.projector import replay as library
from services.projector.positions import Unreachable

Topics = Annotated[list[str], typer.Option("--topic", "-t", help="Topic to read; repeatable.")]


def replay(
    topic: Topics,
    from_offset: Annotated[int | None, typer.Option(help="Read from this offset.", min=0)] = None,
    from_beginning: Annotated[bool, typer.Option("--from-beginning", help="Read all.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be read.")] = False,
    json: AsJson = False,
) -> None:
    """Stop the projector, move it back, and let it read a topic again in place.

    Restores rows that are missing in the read model; newer rows stay as they are. Where whole
    orders are missing, the other topics are read again too.
    No service acts on it: nothing is charged, reserved or mailed again.

    Examples:

      orderctl replay --topic order.events --from-beginning

      orderctl replay -t order.events -t payment.events --from-offset 100 --dry-run
    """
    start = _start(from_offset, from_beginning)
    replayer = _replayer(load_settings())
    try:
        plan = replayer.plan(topic, start)
        if not dry_run:
            _run(replayer, plan)
    except (library.ReplayRefused, library.ReplayFailed, Unreachable) as error:
        raise CliError(str(error), "orderctl lag shows where the projector is") from error
    if json:
        print_json(_as_json(plan, dry_run))
    else:
        out.print(_table(plan))
        if plan.lost_orders:
            out.print(
                f"{plan.lost_orders} orders have no row in the read model: for them the other "
                "topics are read again too, from when those orders began"
            )
        what = "would be read again" if dry_run else "read again"
        out.print(f"[bold]{plan.records}[/] records {what}")


def _start(from_offset: int | None, from_beginning: bool) -> library.Start:
    if from_beginning == (from_offset is not None):
        raise CliError("give one of --from-beginning and --from-offset N", code=2)
    if from_offset is not None:
        return library.FromOffset(from_offset)
    return library.FromBeginning()


def _replayer(settings: Settings) -> library.Replayer:
    if not settings.projector_database_url:
        raise missing("SAGA_PROJECTOR_DATABASE_URL")
    engine = sa.create_engine(settings.projector_database_url, poolclass=sa.NullPool)
    return library.Replayer(engine, settings.kafka_bootstrap)


def _run(replayer: library.Replayer, plan: library.Plan) -> None:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("pausing", total=plan.records)

        def progress(now: library.Progress) -> None:
            bar.update(task, description=now.step, completed=now.done)

        replayer.run(plan, progress)


def _table(plan: library.Plan) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("topic")
    for name in ("partition", "from", "to", "records"):
        table.add_column(name, justify="right")
    for part in plan.partitions:
        start = "stays" if part.start is None else str(part.start)
        bounds = part.bounds
        numbers = (str(bounds.partition), start, str(bounds.log_end), str(part.records))
        table.add_row(bounds.topic, *numbers)
    return table


def _as_json(plan: library.Plan, dry_run: bool) -> dict[str, object]:
    return {
        "dry_run": dry_run,
        "records": plan.records,
        "lost_orders": plan.lost_orders,
        "partitions": [
            {
                "topic": part.bounds.topic,
                "partition": part.bounds.partition,
                "from_offset": part.start,
                "end_offset": part.bounds.log_end,
                "records": part.records,
            }
            for part in plan.partitions
        ],
    }
