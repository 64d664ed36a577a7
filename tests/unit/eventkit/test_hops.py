"""The two hops of an event: outbox to topic, topic to consumer."""

from datetime import UTC, datetime

import pytest

from services.eventkit.hops import attributes
from services.eventkit.records import RawRecord

DECIDED = datetime(2026, 1, 31, 9, 15, tzinfo=UTC)
UNIX = DECIDED.timestamp()


def record(published_at: float | None, taken_at: float | None) -> RawRecord:
    return RawRecord("order.events", 0, 1, b"", b"", [], published_at, taken_at)


@pytest.mark.parametrize(
    ("published", "taken", "told"),
    [
        (0.2, 0.25, {"saga.outbox_ms": 200.0, "saga.topic_ms": 50.0}),
        (-0.001, 0.0, {"saga.outbox_ms": 0.0, "saga.topic_ms": 1.0}),
        (0.2, None, {"saga.outbox_ms": 200.0}),
        (None, 0.25, {}),
    ],
)
def test_what_is_known_is_told(
    published: float | None, taken: float | None, told: dict[str, float]
) -> None:
    times = [None if one is None else UNIX + one for one in (published, taken)]
    assert attributes(record(*times), DECIDED) == pytest.approx(told, abs=0.01)
