"""``orderctl reemit``: publish outbox rows again."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from uuid import UUID

import typer

from infra.names import EMITTERS
from services.orderctl.console import note, out, print_json
from services.orderctl.errors import CliError
from services.orderctl.options import AsJson
from services.orderctl.reemit import rows
from services.orderctl.reemit.missing import never_published
from services.orderctl.reemit.publish import publish
from services.orderctl.reemit.record import record_of
from services.orderctl.settings import Settings, load_settings
from services.orderctl.verify.databases import reading

SHOWN = 20


def reemit(
    service: Annotated[str, typer.Option("--service", "-s", help="Whose events.")],
    order: Annotated[str | None, typer.Option("--order", "-o", help="Only of this order.")] = None,
    missing: Annotated[
        bool, typer.Option("--missing", help="Only those that are not on their topic.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be sent.")] = False,
    json: AsJson = False,
) -> None:
    """Publish events of a service again, exactly as they were, from its outbox.

    Whoever has taken an event already knows its id, so a repeat has no effect. With --missing it
    closes the hole that a lost replication slot leaves: the topics are read once and compared.

    Examples:

      orderctl reemit --service order --missing --dry-run

      orderctl reemit -s payment --order 0b54b3a4-6d0e-4b0a-9f3e-1d2c3b4a5f60
    """
    if service not in EMITTERS:
        raise CliError(f"{service} emits no events", f"one of: {', '.join(EMITTERS)}", 2)
    if order is None and not missing:
        raise CliError("give --missing, or --order", "--missing --dry-run is harmless", 2)
    settings = load_settings()
    with reading(settings, service) as conn:
        everything = [message_id for message_id, _ in rows.ids(conn, order)]
    chosen = never_published(settings, service, order) if missing else everything
    sent = plan(settings, service, chosen) if dry_run else emit(settings, service, chosen)
    _show(service, sent, len(everything), dry_run, json)


def plan(settings: Settings, service: str, ids: Sequence[UUID]) -> list[dict[str, str]]:
    """What `emit` would send: id, type, topic and key of each event."""
    with reading(settings, service) as conn:
        return [_named(row) for row in rows.whole(conn, ids)]


def emit(settings: Settings, service: str, ids: Sequence[UUID]) -> list[dict[str, str]]:
    """Publishes these rows of a service's outbox, in the order in which they were written."""
    with reading(settings, service) as conn:
        found = list(rows.whole(conn, ids))
    publish(settings.kafka_bootstrap, map(record_of, found))
    return [_named(row) for row in found]


def _named(row: Mapping[str, Any]) -> dict[str, str]:
    return {
        "message_id": str(row["message_id"]),
        "event_type": row["event_type"],
        "topic": row["topic"],
        "key": row["aggregate_id"],
    }


def _show(
    service: str, sent: Sequence[dict[str, str]], looked_at: int, dry_run: bool, json: bool
) -> None:
    if json:
        print_json({"dry_run": dry_run, "looked_at": looked_at, "events": list(sent)})
        return
    verb = "would be sent" if dry_run else "sent"
    if not sent:
        out.print(f"[green]nothing to send[/]: {looked_at} events of {service} looked at")
        return
    for event_type, count in Counter(event["event_type"] for event in sent).most_common():
        out.print(f"{count:>6}  {event_type}")
    for event in sent[:SHOWN]:
        line = f"{event['message_id']}  {event['event_type']} of {event['key']}"
        out.print(f"{line} to {event['topic']}", style="dim", markup=False)
    if len(sent) > SHOWN:
        note(f"and {len(sent) - SHOWN} more (--json shows all)")
    out.print(f"[bold]{len(sent)}[/] of {looked_at} events {verb}")
