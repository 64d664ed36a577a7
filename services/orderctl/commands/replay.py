"""``orderctl replay``: have the read model read topics again."""

import re
from typing import Annotated

import sqlalchemy as sa
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from services.eventkit.envelope import InvalidEnvelope, parse_time
from services.eventkit.positions import Unreachable
from services.orderctl import generations
from services.orderctl.console import err, out, print_json
from services.orderctl.errors import CliError
from services.orderctl.options import AsJson
from services.orderctl.settings import Settings, load_settings, missing
from services.orderctl.steps import traced
from services.projector import replay as library

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
    newer rows stay as they are. Where whole orders are missing, the other topics are read too.

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
    settings = load_settings()
    if [bool(topic), shadow, rollback, drop].count(True) != 1:
        raise CliError("give one of --topic, --shadow, --rollback and --drop", code=2)
    if topic:
        _in_place(
            settings,
            topic,
            _start(from_offset, partition_offsets, from_time, from_beginning),
            dry_run,
            json,
        )
    elif shadow:
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
        plan = replayer.plan(topics, start)
        if not dry_run:
            _run(replayer, plan, settings)
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


def _start(
    from_offset: int | None,
    partition_offsets: str | None,
    from_time: str | None,
    from_beginning: bool,
) -> library.Start | library.FromTime:
    given = (from_offset, partition_offsets, from_time, from_beginning or None)
    if sum(one is not None for one in given) != 1:
        raise CliError(
            "give one of --from-beginning, --from-offset N, --partition-offsets P:N,... and "
            "--from-time T",
            code=2,
        )
    if from_offset is not None:
        return library.FromOffset(from_offset)
    if partition_offsets is not None:
        return library.FromOffsets(_offsets(partition_offsets))
    if from_time is not None:
        return library.FromTime(_unix_ms(from_time))
    return library.FromBeginning()


def _offsets(text: str) -> dict[int, int]:
    if not re.fullmatch(r"\d+:\d+(,\d+:\d+)*", text):
        raise CliError(f"not partition:offset,...: {text!r}", code=2)
    pairs = (pair.split(":") for pair in text.split(","))
    return {int(partition): int(offset) for partition, offset in pairs}


def _unix_ms(text: str) -> int:
    try:
        return int(parse_time(text).timestamp() * 1000)
    except InvalidEnvelope as error:
        raise CliError(f"not a time with its zone: {text!r}", code=2) from error


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
