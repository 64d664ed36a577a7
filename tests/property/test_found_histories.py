"""What was found once is kept: as a golden timeline, and as a proof that its bug would show."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.orderctl.timeline import Entry, golden
from tests.property.flaws import FLAWS, Flaw
from tests.property.found import FOUND, Found
from tests.property.model.checks import AFTER_REPAIR, ALWAYS, AT_REST, Violation, expect
from tests.property.model.conduct import Conduct
from tests.property.model.parts import Parts
from tests.property.model.quiet import repair, settle
from tests.property.model.world import World

GOLDEN = Path(__file__).parent / "golden"
PAIRS = [(found, flaw) for found in FOUND for flaw in FLAWS if flaw.name in found.flaws]


@pytest.mark.parametrize("found", FOUND, ids=lambda found: found.name)
def test_a_found_history_has_its_golden_timeline(found: Found) -> None:
    """UPDATE_GOLDEN=1 stores it instead."""
    text = "\n".join(_told(found)) + "\n"
    path = GOLDEN / f"{found.name}.txt"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.parametrize(
    ("found", "flaw"), PAIRS, ids=[f"{found.name}-{flaw.name}" for found, flaw in PAIRS]
)
def test_a_found_history_brings_its_bug_to_light(found: Found, flaw: Flaw) -> None:
    with pytest.raises(Violation) as violation:
        _play(found, World(flaw.parts, {"mug": 1}))
    assert violation.value.check in flaw.breaks


def test_every_planted_bug_has_a_history() -> None:
    assert {flaw.name for flaw in FLAWS} == {name for found in FOUND for name in found.flaws}


def _told(found: Found) -> Iterator[str]:
    world = World(Parts(), {"mug": 1})
    played = _play(found, world)
    yield f"{found.play.__doc__}\n"
    yield "# What happened\n"
    yield from world.story[:played]
    yield "\n# What came of it\n"
    decisions = (line for line in world.story[played:] if line.startswith("  "))
    yield from (line[2:] for line in decisions if not line.startswith("  analytics"))
    yield "\n# Causes\n"
    yield golden(_entries(world)).rstrip()


def _play(found: Found, world: World) -> int:
    """Plays a history, checks all there is to check, and says how long the story was before."""
    conduct = Conduct(world)
    found.play(world)
    played = len(world.story)
    for come_to_rest, checks in ((settle, AT_REST), (repair, AFTER_REPAIR)):
        conduct.expect()
        expect(world, ALWAYS)
        come_to_rest(world)
        conduct.expect()
        expect(world, (*ALWAYS, *checks))
    return played


def _entries(world: World) -> Iterator[Entry]:
    for one in world.projector.timeline.values():
        yield Entry(
            str(one.message_id),
            one.event_type,
            one.source,
            one.sequence,
            one.time,
            one.causation_id,
            one.data,
        )
