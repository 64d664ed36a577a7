"""Any number of events, as Debezium would write them: real Avro and real headers on real topics."""

import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from uuid import UUID

from confluent_kafka import Producer

from services.eventkit.envelope import format_time
from tests.integration.projector.traffic import Told, told
from tests.unit.projector.stories import CONFIRMED, STORIES, Step

CUSTOMERS = 100
_CONFIRMED_OF_TEN = 7
_IN_FLIGHT = 20
_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def events(number: int, seed: int = 1) -> Iterator[Told]:
    """At least so many events of whole orders, seven of ten confirmed; the last order is whole.

    Twenty orders are under way at any time, so their events come mixed.
    """
    rng = random.Random(seed)
    made = 0
    running: list[Iterator[Told]] = []
    while made < number or running:
        while made < number and len(running) < _IN_FLIGHT:
            steps = _story(rng)
            made += len(steps)
            running.append(_order(rng, steps))
        chosen = rng.randrange(len(running))
        following = next(running[chosen], None)
        if following is None:
            running.pop(chosen)
        else:
            yield following


def produce(
    bootstrap: str, prefix: str, told: Iterator[Told], progress: Callable[[int], None]
) -> int:
    """Writes the events to topics that begin with ``prefix``; returns how many there were."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "partitioner": "murmur2_random",
            "linger.ms": 50,
            "queue.buffering.max.messages": 200_000,
        }
    )
    number = 0
    for number, event in enumerate(told, 1):
        while True:
            try:
                producer.produce(
                    prefix + event.topic, event.value, event.key, headers=list(event.headers)
                )
                break
            except BufferError:
                producer.poll(0.1)
        if number % 10_000 == 0:
            producer.poll(0)
            progress(number)
    assert producer.flush(120) == 0
    return number


def _story(rng: random.Random) -> list[Step]:
    if rng.randrange(10) < _CONFIRMED_OF_TEN:
        return CONFIRMED
    return STORIES[rng.choice(sorted(STORIES))]


def _order(rng: random.Random, steps: list[Step]) -> Iterator[Told]:
    order_id = UUID(int=rng.getrandbits(128), version=4)
    customer = rng.randrange(CUSTOMERS)
    began = _EPOCH + timedelta(milliseconds=rng.randrange(10**10))
    for position in range(len(steps)):
        event = _encoded(customer, _key(steps), position)
        headers = dict(event.headers)
        headers["ce_id"] = str(UUID(int=rng.getrandbits(128), version=4)).encode()
        headers["ce_subject"] = str(order_id).encode()
        time = began + timedelta(milliseconds=40 * position)
        headers["ce_time"] = format_time(time).encode()
        yield Told(event.topic, str(order_id), list(headers.items()), event.value)


def _key(steps: list[Step]) -> str:
    return next(name for name, story in STORIES.items() if story is steps)


@cache
def _encoded(customer: int, story: str, position: int) -> Told:
    """An event without its own ids and time: encoding each one costs more than all the rest."""
    event_type, sequence, data = STORIES[story][position]
    known: dict[str, Any] = dict(data)
    if "customer_id" in known:
        known["customer_id"] = f"customer-{customer}"
    if "total" in known:
        known["total"] = known["total"] + customer
    return told((event_type, sequence, known), UUID(int=0), _EPOCH)
