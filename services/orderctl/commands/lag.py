"""``orderctl lag``: how far every reader is behind."""

from typing import Annotated

import typer
from rich.table import Table

from services.orderctl.console import note, out, print_json
from services.orderctl.groups import Group, read_groups
from services.orderctl.options import AsJson
from services.orderctl.settings import load_settings


def lag(
    partitions: Annotated[
        bool, typer.Option("--partitions", help="One line a partition, not one a topic.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Show how many events each consumer group, the projector's included, has still to read.

    Examples:

      orderctl lag

      orderctl lag --partitions
    """
    groups = read_groups(load_settings().kafka_bootstrap)
    if json:
        print_json([_as_json(group) for group in groups])
        return
    out.print(_by_partition(groups) if partitions else _by_topic(groups))
    for group in groups:
        if not group.members:
            note(f"{group.name} has no member: nobody reads for it at the moment")


def _by_topic(groups: list[Group]) -> Table:
    table = _table("group", "topic", "partitions", "read", "written", "lag")
    for group in groups:
        for topic in sorted({lag.topic for lag in group.lags}):
            lags = [lag for lag in group.lags if lag.topic == topic]
            read, end = sum(x.next_offset for x in lags), sum(x.end_offset for x in lags)
            behind = sum(x.events for x in lags)
            table.add_row(group.name, topic, str(len(lags)), str(read), str(end), _count(behind))
    return table


def _by_partition(groups: list[Group]) -> Table:
    table = _table("group", "topic", "partition", "read", "written", "lag")
    for group in groups:
        for x in group.lags:
            table.add_row(
                x.group,
                x.topic,
                str(x.partition),
                str(x.next_offset),
                str(x.end_offset),
                _count(x.events),
            )
    return table


def _table(*names: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in names:
        table.add_column(name, justify="left" if name in {"group", "topic"} else "right")
    return table


def _count(events: int) -> str:
    return f"[yellow]{events}[/]" if events else "[green]0[/]"


def _as_json(group: Group) -> dict[str, object]:
    return {
        "group": group.name,
        "members": group.members,
        "lag": group.events,
        "partitions": [
            {
                "topic": lag.topic,
                "partition": lag.partition,
                "next_offset": lag.next_offset,
                "end_offset": lag.end_offset,
                "lag": lag.events,
            }
            for lag in group.lags
        ],
    }
