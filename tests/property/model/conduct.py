"""How each service went about its inputs: each once, in order, and by a name."""

import re
from collections.abc import Iterator
from uuid import UUID

from services.eventkit.decision import APPLIED, DUPLICATE
from services.payment.domain import REFUND_DUE
from tests.property.model.checks import Violation
from tests.property.model.database import Decided
from tests.property.model.world import World

_NAMED = re.compile(rf"{APPLIED}|{DUPLICATE}|{REFUND_DUE}|ignored:[a-z_]+")


class Conduct:
    """Reads each service's log as it grows."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._read = dict.fromkeys(world.services, 0)
        self._rules_met: set[tuple[str, int, UUID]] = set()
        self._furthest: dict[tuple[str, str, str, int], int] = {}

    def expect(self) -> None:
        """Raises `Violation` for the first problem in what was logged since the last time."""
        for name, service in self._world.services.items():
            log = service.database.decided
            for one in log[self._read[name] :]:
                for problem in self._problems(name, one):
                    raise Violation(*problem)
            self._read[name] = len(log)

    def _problems(self, name: str, one: Decided) -> Iterator[tuple[str, str]]:
        outcome = one.decision.outcome
        what = f"{name}, {one.event.type} of {self._world.name_of(one.event.key)}"
        if not _NAMED.fullmatch(outcome):
            yield "every_outcome_is_named", f"{what}: {outcome!r}"
        if outcome == DUPLICATE:
            return
        inbox = self._world.forgotten[name]  # a service may meet again what it has forgotten
        if (name, inbox, one.event.id) in self._rules_met:
            yield "each_message_meets_a_rule_once", what
        self._rules_met.add((name, inbox, one.event.id))
        if one.message is not None and not inbox:
            record = one.message.record
            at = (name, one.event.key, record.topic, record.partition)
            if record.offset <= self._furthest.get(at, -1):
                yield "events_of_an_order_keep_their_order", what
            self._furthest[at] = record.offset
