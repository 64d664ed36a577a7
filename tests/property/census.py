"""What the histories have come to: a test that never gets anywhere would find nothing."""

from collections import Counter
from dataclasses import dataclass, field

from tests.property.model.world import World

Move = tuple[str, str | None, str]
"""A service, and the statuses between which one of its aggregates moved."""


@dataclass
class Census:
    """How many histories there were, the endings of their orders, and every move and outcome."""

    histories: int = 0
    endings: Counter[str] = field(default_factory=Counter)
    moves: Counter[Move] = field(default_factory=Counter)
    outcomes: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def add(self, world: World) -> None:
        """Counts one history."""
        self.histories += 1
        for order in world.services["order"].database.states.values():
            self.endings[f"{order.status}:{order.reason}" if order.reason else order.status] += 1
        for name, service in world.services.items():
            for one in service.database.decided:
                self.outcomes[name, one.event.type, one.decision.outcome] += 1
                after = getattr(one.decision.state, "status", None)
                before = getattr(one.before, "status", None)
                if after is not None and after != before:
                    self.moves[name, before, after] += 1

    def __str__(self) -> str:
        endings = ", ".join(f"{count} {ending}" for ending, count in self.endings.most_common())
        return f"{self.histories} histories, {len(self.outcomes)} kinds of outcome; {endings}"
