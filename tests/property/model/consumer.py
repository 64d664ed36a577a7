"""A member of a consumer group: where it reads, and how far it has told the broker."""

from collections.abc import Callable, Iterable, Sequence

from services.eventkit.decision import Event
from services.eventkit.records import Message
from tests.property.model.topics import Place, Topics, places


class Consumer:
    """Takes records in the order of each partition, from any partition first.

    Events that the service does not handle are skipped on the way. A crash forgets the positions
    in memory and goes on from the acknowledged ones.
    """

    def __init__(
        self, topics: Topics, subscribed: Sequence[str], handles: Callable[[Event], bool]
    ) -> None:
        self.places = places(subscribed)
        self._topics = topics
        self._handles = handles
        self._positions = dict.fromkeys(self.places, 0)
        self._acknowledged = dict(self._positions)

    def waiting(self) -> list[Place]:
        """The partitions that have something to read."""
        return self._behind(self._positions)

    def peek(self, picks: Iterable[int]) -> list[Message]:
        """The next records, each from the partition that a pick names; no position moves."""
        positions = dict(self._positions)
        taken = []
        for pick in picks:
            waiting = self._behind(positions)
            if not waiting:
                break
            place = waiting[pick % len(waiting)]
            taken.append(self._topics.record(place, positions[place]))
            positions[place] += 1
        return taken

    def take(self, picks: Iterable[int]) -> list[Message]:
        """Reads those records."""
        taken = self.peek(picks)
        for message in taken:
            self._positions[_place(message)] = message.record.offset + 1
        return taken

    def acknowledge(self, messages: Iterable[Message]) -> None:
        """Tells the broker that these need not come again."""
        for message in messages:
            self._acknowledged[_place(message)] = message.record.offset + 1

    def restart(self) -> None:
        """Forgets what was read and not acknowledged."""
        self._positions = dict(self._acknowledged)

    def rewind(self) -> None:
        """Reads everything from the beginning again."""
        self._positions = dict.fromkeys(self.places, 0)
        self._acknowledged = dict(self._positions)

    def _behind(self, positions: dict[Place, int]) -> list[Place]:
        """The partitions that have something to read; the positions move up to it."""
        found = []
        for place in self.places:
            while (position := positions[place]) < self._topics.sizes[place]:
                if self._handles(self._topics.record(place, position).event):
                    found.append(place)
                    break
                positions[place] = position + 1
        return found


def _place(message: Message) -> Place:
    return message.record.topic, message.record.partition
