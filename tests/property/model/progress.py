"""What can happen next where nothing fails."""

from collections.abc import Callable
from functools import partial

from services.order.domain import DEADLINE
from tests.property.model import database as db
from tests.property.model.database import Job
from tests.property.model.service import Claim
from tests.property.model.world import World

READERS = ("analytics", "projector")
"""They take all at once, as nothing follows from what they do."""

Move = Callable[[], object]


def moves(world: World) -> list[Move]:
    """All honest moves; a deadline passes only by itself."""
    found: list[Move] = []
    for name, member in world.members.items():
        waiting = len(member.consumer.waiting())
        if waiting and name in READERS:
            found.append(partial(world.consume, name, range(2 * waiting)))
        else:
            found += [partial(world.consume, name, [place]) for place in range(waiting)]
    for name in world.services:
        if world.relays[name].waiting():
            found.append(partial(world.relay, name))
    found += [partial(world.claim, name, job) for name, job in due(world)]
    found += [partial(world.call, name, claim) for name, claim in claims(world, made=False)]
    found += [partial(world.store, name, claim) for name, claim in claims(world, made=True)]
    return found


def due(world: World) -> list[tuple[str, Job]]:
    """The jobs that a worker may claim, of each service; no deadlines."""
    return [
        (name, job)
        for name, service in world.services.items()
        for job in service.claimable()
        if job.kind != DEADLINE
    ]


def claims(world: World, *, made: bool) -> list[tuple[str, Claim]]:
    """The claims of each service whose call was made, or is still to be made."""
    return [
        (name, claim)
        for name, service in world.services.items()
        for claim in service.claims
        if (claim.result is not None) == made
    ]


def leased(world: World) -> list[tuple[str, Job]]:
    """The jobs that are running, of each service."""
    return [
        (name, job)
        for name, service in world.services.items()
        for job in service.database.jobs.values()
        if job.status == db.RUNNING and job.leased
    ]


def ended_badly(world: World) -> list[tuple[str, Job]]:
    """The jobs that a person can redrive, of each service."""
    return [
        (name, job)
        for name, service in world.services.items()
        for job in service.database.jobs.values()
        if job.status in (db.FAILED, db.DEAD)
    ]
