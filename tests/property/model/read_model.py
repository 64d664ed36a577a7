"""The projector: the real projection over a timeline and views kept in memory."""

from collections.abc import Callable, Sequence
from datetime import datetime
from uuid import UUID

from infra.names import EMITTERS, events_topic
from services.eventkit.records import Message
from services.projector.timeline import entry_of, is_projected
from services.projector.views import OrderView, TimelineEntry
from tests.property.model.consumer import Consumer
from tests.property.model.database import Step
from tests.property.model.topics import Topics

Projection = Callable[[OrderView | None, TimelineEntry], OrderView]


class Projector:
    """Folds every event into the view of its order; it has no inbox, its guard is the version."""

    name = "projector"

    def __init__(self, topics: Topics, project: Projection) -> None:
        every_topic = [events_topic(emitter) for emitter in EMITTERS]
        self.consumer = Consumer(topics, every_topic, lambda event: is_projected(event.type))
        self.stalled: Sequence[Message] = ()
        self.views: dict[UUID, OrderView] = {}
        self.timeline: dict[UUID, TimelineEntry] = {}
        self._project = project

    def prepare(self, messages: Sequence[Message], now: datetime) -> "Folded":
        """Projects a batch in memory."""
        return Folded(self, self._project, messages)

    def crash(self) -> None:
        """Loses what was in memory."""
        self.consumer.restart()
        self.stalled = ()


class Folded:
    """A projected batch, written by `commit`."""

    def __init__(
        self, projector: Projector, project: Projection, messages: Sequence[Message]
    ) -> None:
        self._projector = projector
        self._views = dict(projector.views)
        self._timeline = dict(projector.timeline)
        for message in messages:
            entry = entry_of(message)
            if not isinstance(entry, TimelineEntry):
                raise TypeError(entry.error)
            self._timeline.setdefault(entry.message_id, entry)
            self._views[entry.order_id] = project(self._views.get(entry.order_id), entry)

    def steps(self) -> list[Step]:
        """What writes the batch."""
        return [self.commit]

    def commit(self) -> None:
        """Writes everything at once."""
        self._projector.views = self._views
        self._projector.timeline = self._timeline
