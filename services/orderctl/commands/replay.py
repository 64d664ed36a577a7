"""``orderctl replay``: have the read model read topics again."""

from typing import Annotated

import sqlalchemy as sa
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from services.eventkit.positions import admin_client, places_of
from services.orderctl import generations
from services.orderctl.console import err, out, print_json
from services.orderctl.errors import CliError
from services.orderctl.failures import UNDERNEATH, failed
from services.orderctl.options import AsJson
from services.orderctl.replay_options import check_options, check_partitions, start_of, topics_of
from services.orderctl.settings import Settings, load_settings, missing
from services.orderctl.steps import traced
from services.projector import replay as library

_LOOK = "orderctl lag shows where the projector is"

Topics = Annotated[
    list[str] | None, typer.Option("--topic", "-t", help="Topic to read again; repeatable.")
]
FromOffset = Annotated[int | None, typer.Option(help="Read from this offset.", min=0)]
FromBeginning = Annotated[bool, typer.Option("--from-beginning", help="Read all.")]
PartitionOffsets = Annotated[
    str | None,
    typer.Option(help="Read these partitions from offsets of their own: 0:120,3:95."),
]
FromTime = Annotated[
    str | None,
    typer.Option(help="Read what was written at this time or later: 2026-01-31T09:15:00Z."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be read.")]
Shadow = Annotated[
    bool, typer.Option("--shadow", help="Build the model anew beside the live one, then swap.")
]
Accept = Annotated[bool, typer.Option("--accept-differences", help="Swap even where rows differ.")]
NoSwap = Annotated[
    bool, typer.Option("--no-swap", help="Build and compare; another --shadow swaps.")
]
Rollback = Annotated[bool, typer.Option("--rollback", help="Go back to the generation before.")]
Drop = Annotated[bool, typer.Option("--drop", help="Remove all generations but the current one.")]
Processes = Annotated[int, typer.Option(help="How many processes read; 0: one a core.", min=0)]

Model = Annotated[
    generations.Model, typer.Option(help="What --shadow, --rollback and --drop are about.")
]


def replay(
    topic: Topics = None,
    from_offset: FromOffset = None,
    partition_offsets: PartitionOffsets = None,
    from_time: FromTime = None,
    from_beginning: FromBeginning = False,
    dry_run: DryRun = False,
    shadow: Shadow = False,
    accept_differences: Accept = False,
    no_swap: NoSwap = False,
    rollback: Rollback = False,
    drop: Drop = False,
    model: Model = generations.Model.PROJECTOR,
    processes: Processes = 0,
    json: AsJson = False,
) -> None:
    """Have the read model read topics again: in place, or beside the live one.

    In place: the projector stops, moves back and reads again. Rows that are missing come back;
    newer rows stay as they are. Where whole orders are missing, all topics are read.

    --shadow: another generation of the tables is built from all topics while the live one goes
    on, then compared, then swapped in. Wrong rows are put right. The old generation is kept.

    No service acts on a replay: nothing is charged, reserved or mailed again.

    Examples:

      orderctl replay --topic order.events --from-beginning

      orderctl replay -t order.events -t payment.events --from-offset 100 --dry-run

      orderctl replay -t order.events --from-time 2026-01-31T09:15:00Z

      orderctl replay --shadow

      orderctl replay --shadow --model analytics
    """
    check_options(
        {
            "--topic": bool(topic),
            "--from-offset": from_offset is not None,
            "--partition-offsets": partition_offsets is not None,
            "--from-time": from_time is not None,
            "--from-beginning": from_beginning,
            "--dry-run": dry_run,
            "--shadow": shadow,
            "--accept-differences": accept_differences,
            "--no-swap": no_swap,
            "--rollback": rollback,
            "--drop": drop,
            f"--model {model}": model is not generations.Model.PROJECTOR,
            "--processes": processes != 0,
        }
    )
    if topic:
        topics = topics_of(topic)
        start = start_of(from_beginning, from_offset, partition_offsets, from_time)
        _in_place(load_settings(), topics, start, dry_run, json)
        return
    settings = load_settings()
    if shadow:
        generations.rebuild(settings, model, processes, not no_swap, accept_differences, json)
    elif rollback:
        generations.rollback(settings, model, json)
    else:
        generations.drop(settings, model, json)


def _in_place(
    settings: Settings,
    topics: list[str],
    start: library.Start | library.FromTime,
    dry_run: bool,
    json: bool,
) -> None:
    replayer = _replayer(settings)
    try:
        check_partitions(start, places_of(admin_client(settings.kafka_bootstrap), topics))
        with err.status("looking for orders that have no row"):
            plan = replayer.plan(topics, start)
        if not dry_run:
            _run(replayer, plan, settings)
    except (library.ReplayRefused, library.ReplayFailed) as error:
        raise CliError(str(error), _LOOK) from error
    except UNDERNEATH as error:
        raise failed(error, _LOOK) from error
    if json:
        print_json(_as_json(plan, dry_run))
    else:
        out.print(_table(plan))
        if plan.lost_orders:
            out.print(
                f"{plan.lost_orders} orders have no row in the read model: for them all "
                "topics are read again, from when the first of those orders began"
            )
        what = "would be read again" if dry_run else "read again"
        out.print(f"[bold]{plan.records}[/] records {what}")


def _replayer(settings: Settings) -> library.Replayer:
    if not settings.projector_database_url:
        raise missing("SAGA_PROJECTOR_DATABASE_URL")
    engine = sa.create_engine(settings.projector_database_url, poolclass=sa.NullPool)
    return library.Replayer(engine, settings.kafka_bootstrap)


def _run(replayer: library.Replayer, plan: library.Plan, settings: Settings) -> None:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with (
        traced("replay", settings.otlp_endpoint, _attributes(plan)) as steps,
        Progress(*columns, console=err, transient=True) as bar,
    ):
        task = bar.add_task("pausing", total=plan.records)

        def progress(now: library.Progress) -> None:
            steps.at(now.step)
            bar.update(task, description=now.step, completed=now.done)

        replayer.run(plan, progress)


def _attributes(plan: library.Plan) -> dict[str, str | int]:
    moved = {f"{part.bounds.topic}/{part.bounds.partition}": part.start for part in plan.moved}
    started = ", ".join(f"{place} from {start}" for place, start in moved.items())
    return {"saga.records": plan.records, "saga.partitions": started}


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
