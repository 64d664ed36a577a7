"""The topics: partitions that keep the order of what is published, for ever."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any, cast
from uuid import UUID

import fastavro

from services.eventkit.decision import Emit, Event
from services.eventkit.envelope import Envelope
from services.eventkit.records import Message, RawRecord
from tests.unit.ruleset import schemas

PARTITIONS = 2

Place = tuple[str, int]
"""A topic and one of its partitions."""


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """An event on its way to its topic; ``data`` is what a reader decodes."""

    envelope: Envelope
    topic: str
    data: Mapping[str, Any]

    def under(self, message_id: UUID) -> "OutboxRow":
        """The same event said again under another message id."""
        return replace(self, envelope=replace(self.envelope, message_id=message_id))


class Topics:
    """All topics of the system; the records of one order stay in one partition of each.

    ``sizes`` has the offset that the next record of a partition will get.
    """

    def __init__(self) -> None:
        self.sizes: dict[Place, int] = defaultdict(int)
        self._records: dict[Place, list[Message]] = defaultdict(list)

    def publish(self, row: OutboxRow) -> None:
        """Appends a record to the partition of its key."""
        place = (row.topic, partition_of(row.envelope.subject))
        self._records[place].append(_message(row, place, self.sizes[place]))
        self.sizes[place] += 1

    def record(self, place: Place, offset: int) -> Message:
        """The record at an offset of a partition."""
        return self._records[place][offset]

    def everything(self) -> Iterator[Message]:
        """All records there are, partition by partition."""
        for records in self._records.values():
            yield from records


def partition_of(key: str) -> int:
    """The partition of an order's records, the same in each topic."""
    return UUID(key).int % PARTITIONS


def places(topics: Sequence[str]) -> list[Place]:
    """The partitions of these topics."""
    return [(topic, partition) for topic in topics for partition in range(PARTITIONS)]


def wire(emit: Emit) -> Mapping[str, Any]:
    """An event's fields after their travel as Avro; raises where they do not fit the schema."""
    schema = schemas()[emit.type]
    buffer = BytesIO()
    fastavro.schemaless_writer(buffer, schema, dict(emit.data), strict=True)
    buffer.seek(0)
    return cast(Mapping[str, Any], fastavro.schemaless_reader(buffer, schema, None))


def _message(row: OutboxRow, place: Place, offset: int) -> Message:
    envelope = row.envelope
    record = RawRecord(*place, offset, envelope.subject.encode(), b"", ())
    event = Event(
        id=envelope.message_id,
        type=envelope.event_type,
        key=envelope.subject,
        data=row.data,
        tenant_id=envelope.tenant_id,
        actor_id=envelope.actor_id,
        correlation_id=envelope.correlation_id,
        time=envelope.time,
        sequence=envelope.sequence,
        source=place[0],
    )
    return Message(record, envelope, event)
