"""From a message as it was read to the timeline entry that the projection folds."""

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from services.eventkit.envelope import format_time
from services.eventkit.records import Message, Poison
from services.projector.views import PROJECTIONS, SECRETS, TimelineEntry


def is_projected(event_type: str) -> bool:
    """False for events that say nothing about an order, such as ReportReady."""
    return event_type in PROJECTIONS


def entry_of(message: Message) -> TimelineEntry | Poison:
    """The entry of a message; `Poison` where its key is no order id."""
    envelope, record = message.envelope, message.record
    try:
        order_id = _order_id(envelope.subject)
    except ValueError:
        problem = f"no order id: {envelope.subject!r}"
        return Poison(record, message.id, "key", problem, envelope)
    return TimelineEntry(
        order_id=order_id,
        message_id=message.id,
        tenant_id=envelope.tenant_id,
        event_type=envelope.event_type,
        source=envelope.source,
        sequence=envelope.sequence,
        time=envelope.time,
        correlation_id=envelope.correlation_id,
        causation_id=envelope.causation_id,
        actor_id=envelope.actor_id,
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        data=_plain(message.event.data),
    )


@lru_cache(10_000)
def _order_id(subject: str) -> UUID:
    """Kept for a while: the events of an order come close together."""
    return UUID(subject)


def _plain(data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields as JSON has them, without secrets; the timeline stores exactly this."""
    return {
        name: format_time(value) if isinstance(value, datetime) else value
        for name, value in data.items()
        if name not in SECRETS
    }
