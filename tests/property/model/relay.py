"""The relay: carries a service's outbox to its topic, and may forget how far it came."""

from collections.abc import Sequence

from tests.property.model.topics import OutboxRow, Topics


class Relay:
    """Publishes rows in the order of their commit, each at least once.

    ``_next`` is in memory; ``_stored`` is what a restart goes back to.
    """

    def __init__(self, topics: Topics, outbox: Sequence[OutboxRow]) -> None:
        self._topics = topics
        self._outbox = outbox
        self._next = 0
        self._stored = 0

    def waiting(self) -> int:
        """How many rows are still to be published."""
        return max(0, len(self._outbox) - self._next)

    def would_repeat(self) -> bool:
        """True while a restart would publish rows again."""
        return self._stored < self._next

    def publish(self, rows: int) -> None:
        """Publishes up to so many rows."""
        published = self._outbox[self._next : self._next + rows]
        for row in published:
            self._topics.publish(row)
        self._next += len(published)

    def store_position(self) -> None:
        """Remembers how far it came."""
        self._stored = self._next

    def restart(self) -> None:
        """Goes on from the stored position: what was published since is published again."""
        self._next = self._stored

    def lose_slot(self, missed: int) -> None:
        """Skips what is still to be published, and so many rows that come before a new slot."""
        self._next = self._stored = len(self._outbox) + missed
