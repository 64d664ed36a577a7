"""All that can come between: people, time, crashes, and faults of every part.

A trouble is a function of the world and some dice; where it has nothing to act on, it does nothing.
"""

from collections.abc import Callable, Mapping, Sequence

from services.order.domain import DEADLINE
from tests.property.model.dice import Dice
from tests.property.model.outside import TOKENS, Fault
from tests.property.model.progress import claims, ended_badly, leased
from tests.property.model.topics import OutboxRow
from tests.property.model.world import World

Trouble = Callable[[World, Dice], None]

GOODS = ("mug", "tea")
BASKETS = ({"mug": 1}, {"tea": 1}, {"mug": 1, "tea": 1}, {"mug": 2})
MOST_ORDERS = 3
FAULTS: Mapping[str, Sequence[Fault]] = {
    "payment": (Fault.LOST_ANSWER, Fault.AWAY, Fault.LOST_REQUEST, Fault.SLOW),
    "email": (Fault.LOST_ANSWER, Fault.AWAY, Fault.LOST_REQUEST, Fault.REFUSED),
}


# --- people and time


def customer_orders(world: World, dice: Dice) -> None:
    if len(world.orders) < MOST_ORDERS:
        token = dice.one_of(TOKENS)
        world.place(dice.one_of(BASKETS), token)


def goods_come_in(world: World, dice: Dice) -> None:
    world.receive(dice.one_of(GOODS), 1 + dice.number() % 2)


def customer_cancels(world: World, dice: Dice) -> None:
    if order := dice.pick(world.orders):
        world.cancel(order)


def deadline_passes(world: World, dice: Dice) -> None:
    jobs = [job for job in world.services["order"].claimable() if job.kind == DEADLINE]
    if job := dice.pick(jobs):
        world.work("order", job)


def refund_is_tried_again(world: World, dice: Dice) -> None:
    if order := dice.pick(world.orders):
        world.retry_refund(order)


def provider_is_mended(world: World, dice: Dice) -> None:
    world.mend_provider()


def job_is_redriven(world: World, dice: Dice) -> None:
    if found := dice.pick(ended_badly(world)):
        world.redrive_job(*found)


# --- events on their way


def relay_forgets(world: World, dice: Dice) -> None:
    rows = 1 + dice.number() % 3
    if name := dice.pick(_relays_with_rows(world)):
        world.relay(name, rows, stores_position=False)


def relay_restarts(world: World, dice: Dice) -> None:
    if name := dice.pick([name for name, relay in world.relays.items() if relay.would_repeat()]):
        world.restart_relay(name)


def slot_is_lost(world: World, dice: Dice) -> None:
    missed = dice.number() % 3
    world.lose_slot(dice.one_of(list(world.relays)), missed)


def event_is_published_again(world: World, dice: Dice) -> None:
    if row := dice.pick(_outboxes(world)):
        world.publish_again(row)


def event_is_repeated(world: World, dice: Dice) -> None:
    if row := dice.pick(_outboxes(world)):
        world.repeat(row)


# --- consumers


def consumer_dies(world: World, dice: Dice) -> None:
    crash_at = dice.number() % 3
    if name := dice.pick(_members_with_records(world)):
        world.consume(name, _batch(dice), crash_at)


def consumer_hangs(world: World, dice: Dice) -> None:
    if name := dice.pick(_members_with_records(world)):
        world.stall(name, _batch(dice))


def consumer_wakes(world: World, dice: Dice) -> None:
    if name := dice.pick([name for name, member in world.members.items() if member.stalled]):
        world.wake(name)


def service_crashes(world: World, dice: Dice) -> None:
    world.crash(dice.one_of(list(world.members)))


def offsets_are_set_back(world: World, dice: Dice) -> None:
    world.rewind(dice.one_of(list(world.members)))


def inbox_runs_out(world: World, dice: Dice) -> None:
    world.forget(dice.one_of(list(world.services)))


# --- rules


def rules_break(world: World, dice: Dice) -> None:
    if order := dice.pick(world.orders):
        world.break_rules(dice.one_of(list(world.services)), order)


def rules_are_mended(world: World, dice: Dice) -> None:
    if name := dice.pick([name for name, service in world.services.items() if service.broken]):
        world.mend_rules(name)


def letters_are_redriven(world: World, dice: Dice) -> None:
    if name := dice.pick([n for n, service in world.services.items() if service.database.letters]):
        world.redrive(name)


# --- workers


def requests_go_wrong(world: World, dice: Dice) -> None:
    name = dice.one_of(list(world.lines))
    world.disturb(name, [dice.one_of(FAULTS[name])] * (1 + dice.number() % 5))


def worker_dies(world: World, dice: Dice) -> None:
    crash_at = dice.number() % 2
    if found := dice.pick(claims(world, made=True)):
        world.store(*found, crash_at)


def lease_runs_out(world: World, dice: Dice) -> None:
    if found := dice.pick(leased(world)):
        world.end_lease(*found)


CUSTOMERS: tuple[Trouble, ...] = (customer_orders, customer_cancels, deadline_passes)
OPERATORS: tuple[Trouble, ...] = (
    refund_is_tried_again,
    provider_is_mended,
    job_is_redriven,
    goods_come_in,
)
RELAYS: tuple[Trouble, ...] = (
    relay_forgets,
    relay_restarts,
    slot_is_lost,
    event_is_published_again,
    event_is_repeated,
)
CONSUMERS: tuple[Trouble, ...] = (
    consumer_dies,
    consumer_hangs,
    consumer_wakes,
    service_crashes,
    offsets_are_set_back,
    inbox_runs_out,
)
RULES: tuple[Trouble, ...] = (rules_break, rules_are_mended, letters_are_redriven)
WORKERS: tuple[Trouble, ...] = (
    requests_go_wrong,
    worker_dies,
    lease_runs_out,
)


def _relays_with_rows(world: World) -> list[str]:
    return [name for name, relay in world.relays.items() if relay.waiting()]


def _members_with_records(world: World) -> list[str]:
    return [name for name, member in world.members.items() if member.consumer.waiting()]


def _outboxes(world: World) -> list[OutboxRow]:
    return [row for service in world.services.values() for row in service.database.outbox]


def _batch(dice: Dice) -> list[int]:
    return [dice.number() for _ in range(1 + dice.number() % 4)]
