"""Orders told to the topics directly, as Debezium would write them: real Avro, real headers."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from confluent_kafka import Producer

from services.eventkit.codec import Codec
from services.eventkit.envelope import Envelope
from services.eventkit.schemas import Schemas
from tests.unit.projector.stories import STORIES, Step

_SCHEMAS = Schemas.load()
_CODEC = Codec(_SCHEMAS)
_SECRETS = {"payment_token": "tok_ok"}


@dataclass(frozen=True)
class Told:
    """One event of an order, ready to be produced."""

    topic: str
    key: str
    headers: list[tuple[str, bytes]]
    value: bytes


def story(steps: Sequence[Step], order_id: UUID, tenant: str = "demo") -> list[Told]:
    """All events of one order, in the order they happened."""
    began = datetime.now(UTC).replace(microsecond=0) - timedelta(seconds=1)
    return [
        told(step, order_id, began + timedelta(milliseconds=40 * number), tenant)
        for number, step in enumerate(steps)
    ]


def told(step: Step, order_id: UUID, time: datetime, tenant: str = "demo") -> Told:
    """One event under a fresh message id."""
    event_type, sequence, data = step
    schema = _SCHEMAS[event_type]
    envelope = Envelope(
        message_id=uuid4(),
        event_type=event_type,
        source=f"/services/{schema.service}",
        time=time,
        subject=str(order_id),
        correlation_id=str(uuid4()),
        causation_id=None,
        sequence=sequence,
        schema_version=schema.version,
        tenant_id=tenant,
        actor_id="c-1",
        traceparent=None,
    )
    value = _CODEC.encode(event_type, _wire(schema.parsed, data))
    return Told(f"{schema.service}.events", str(order_id), envelope.to_headers(), value)


def many(orders: int, seed: int = 1) -> list[Told]:
    """The events of many orders, one story after another."""
    rng = random.Random(seed)
    names = sorted(STORIES)
    return [event for _ in range(orders) for event in story(STORIES[rng.choice(names)], uuid4())]


def produce(bootstrap: str, events: Iterable[Told]) -> None:
    """Writes the events and waits until the broker has them all."""
    producer = Producer({"bootstrap.servers": bootstrap, "partitioner": "murmur2_random"})
    for event in events:
        producer.poll(0)
        producer.produce(event.topic, event.value, event.key, headers=list(event.headers))
    assert producer.flush(30) == 0


def _wire(schema: Any, data: dict[str, Any]) -> dict[str, Any]:
    """A story's fields, as the schema wants them."""
    fields = {**_SECRETS, **data}
    if "pay_by" in fields:
        fields["pay_by"] = datetime.fromisoformat(fields["pay_by"])
    return {field["name"]: fields[field["name"]] for field in schema["fields"]}
