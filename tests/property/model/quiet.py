"""Let a world come to rest: faults end, and everything that waits is done, oldest first."""

from services.order.domain import DEADLINE
from services.payment.domain import REFUND_FAILED
from tests.property.model import database as db
from tests.property.model.service import Service
from tests.property.model.world import EVERYTHING, World

MANY_ROUNDS = 60
RETRIES = 2
"""A refund whose refusal was not heard is first found refused, and then asked for anew."""


class NeverQuiet(AssertionError):
    """Something goes round for ever."""


def settle(world: World) -> None:
    """Ends all faults and goes on until nothing is left to do. Deadlines do not pass by it."""
    world.end_faults()
    for name, service in world.services.items():
        if service.broken:
            world.mend_rules(name)
    for _ in range(MANY_ROUNDS):
        if not _round(world):
            return
    raise NeverQuiet("still busy")


def repair(world: World) -> None:
    """People do what orders need their attention for, and the world comes to rest again.

    First they redrive what was only tried too often, then they have refused refunds tried again.
    """
    world.mend_provider()
    payment = world.services["payment"].database
    for job in list(payment.jobs.values()):
        if job.status == db.DEAD:
            world.redrive_job("payment", job)
    settle(world)
    for _ in range(RETRIES):
        for order in world.orders:
            state = payment.states.get(order.key)
            if state is not None and state.status == REFUND_FAILED:
                world.retry_refund(order)
        settle(world)


def _round(world: World) -> bool:
    """Does what waits now; False where nothing did."""
    before = len(world.story)
    for name, member in world.members.items():
        if member.stalled:
            world.wake(name)
        if member.consumer.waiting():
            world.consume(name, EVERYTHING)
    for name, service in world.services.items():
        if service.database.letters:
            world.redrive(name)
        _finish_jobs(world, name, service)
        if world.relays[name].waiting():
            world.relay(name)
    if len(world.story) == before:
        _publish_what_was_lost(world)
    return len(world.story) > before


def _finish_jobs(world: World, name: str, service: Service) -> None:
    for claim in list(service.claims):
        if claim.result is None:
            world.call(name, claim)
        world.store(name, claim)
    for job in list(service.database.jobs.values()):
        if job.status == db.RUNNING and job.leased:
            world.end_lease(name, job)
        if job.rule_failed:
            world.redrive_job(name, job)
    for job in service.claimable():
        if job.kind != DEADLINE or job.attempts or job.redrives:
            world.work(name, job)


def _publish_what_was_lost(world: World) -> None:
    there = {message.id for message in world.topics.everything()}
    for service in world.services.values():
        for row in service.database.outbox:
            if row.envelope.message_id not in there:
                world.publish_again(row)
