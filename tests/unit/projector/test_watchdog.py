"""The watchdog ends a process that is stuck, and leaves alone one that waits for good reason."""

import time
from collections.abc import Sequence

from services.eventkit.positions import Unreachable
from services.projector.lag import PartitionLag
from services.projector.watchdog import EXIT_CODE, Vitals, Watchdog

STALLED_AFTER = 100.0


class Scene:
    """A process in some state, its surroundings, and what its watchdog does about it."""

    def __init__(self, waiting: str | None = None, events: int = 3) -> None:
        self.vitals = Vitals(waiting=waiting)
        self.events = events
        self.broker_answers = True
        self.ended: list[int] = []
        self.watchdog = Watchdog(self.vitals, self._behind, STALLED_AFTER, self.ended.append)

    def pass_time(self, *, beating: bool = True, seconds: float = STALLED_AFTER + 1) -> None:
        """Nothing happens for a while, but that the loop turns."""
        self.watchdog._seen_well -= seconds
        self.vitals.progress -= seconds
        self.vitals.beat = time.monotonic() if beating else self.vitals.beat - seconds
        self.watchdog.check()

    def _behind(self) -> Sequence[PartitionLag]:
        if not self.broker_answers:
            raise Unreachable("broker: down")
        return [PartitionLag("order.events", 0, self.events, 0)]


def test_events_and_no_progress_end_the_process() -> None:
    scene = Scene()
    scene.pass_time()
    assert scene.ended == [EXIT_CODE]


def test_a_loop_that_does_not_turn_ends_the_process() -> None:
    scene = Scene(events=0)
    scene.pass_time(beating=False)
    assert scene.ended == [EXIT_CODE]


def test_nothing_to_project_is_well() -> None:
    scene = Scene(events=0)
    scene.pass_time()
    assert scene.ended == []


def test_a_wait_for_the_database_is_well() -> None:
    scene = Scene(waiting="OperationalError: connection refused")
    scene.pass_time()
    assert scene.ended == []


def test_a_broker_that_is_away_is_well_and_the_time_starts_anew_when_it_is_back() -> None:
    scene = Scene()
    scene.broker_answers = False
    scene.pass_time()
    scene.broker_answers = True
    scene.pass_time(seconds=STALLED_AFTER - 30)
    assert scene.ended == []
    scene.pass_time(seconds=60)
    assert scene.ended == [EXIT_CODE]


def test_only_its_own_partitions_count() -> None:
    scene = Scene()
    scene.vitals.assigned = frozenset({("order.events", 1)})
    scene.pass_time()
    assert scene.ended == []
    scene.vitals.assigned = frozenset({("order.events", 0)})
    scene.pass_time()
    assert scene.ended == [EXIT_CODE]
