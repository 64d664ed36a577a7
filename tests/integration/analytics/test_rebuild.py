"""A shadow rebuild of the figures: the same rows as the live consumer's, from real topics."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from uuid import uuid4

import pytest
import sqlalchemy as sa
from confluent_kafka.admin import NewTopic

from services.analytics.rebuild import TOPICS, FiguresModel
from services.eventkit.batch import BatchHandler
from services.eventkit.positions import LATEST, admin_client, log_offsets, places_of
from services.eventkit.rebuild import feed
from services.eventkit.rebuild.rebuilder import Rebuilder
from tests.integration.projector.traffic import many, produce
from tests.integration.scratch import Scratch
from tests.live_stack import Ground

ROWS = "SELECT f::text FROM order_figures f ORDER BY key"
BATCH, CHUNK, REPEATS = 100, 50, 40


@pytest.fixture
def model(ground: Ground) -> Iterator[FiguresModel]:
    """The figures of 60 orders on topics of their own; nobody has read them yet."""
    bootstrap, name = ground.env["SAGA_KAFKA_BOOTSTRAP"], f"figures_{uuid4().hex[:8]}"
    topics = [f"{name}.{topic}" for topic in TOPICS]
    admin = admin_client(bootstrap)
    for made in admin.create_topics([NewTopic(topic, 2, 1) for topic in topics]).values():
        made.result(30)
    events = [replace(event, topic=f"{name}.{event.topic}") for event in many(60)]
    produce(bootstrap, [*events, *events[:REPEATS]])
    yield FiguresModel(ground.env["SAGA_REGISTRY_URL"], bootstrap, topics, group=name)
    for gone in admin.delete_topics(topics).values():
        gone.result(30)


def handle(analytics: Scratch, model: FiguresModel) -> int:
    """Has the live consumer's code read everything; returns how many records there were."""
    admin = admin_client(model.bootstrap)
    ends = log_offsets(admin, places_of(admin, model.topics), LATEST)
    ranges = {place: range(end) for place, end in ends.items()}
    records = [record for _, record in feed.read(model.bootstrap, ranges)]
    handler = BatchHandler(analytics.db, analytics.engine, model.group)
    for start in range(0, len(records), BATCH):
        handler.handle(records[start : start + BATCH])
    return len(records)


def rows(analytics: Scratch) -> Sequence[tuple[str, ...]]:
    return analytics.rows(ROWS)


def test_the_rebuilt_figures_are_the_live_ones(analytics: Scratch, model: FiguresModel) -> None:
    events = handle(analytics, model)
    before = rows(analytics)
    assert len(before) == 60
    url = analytics.db.url.render_as_string(hide_password=False)
    rebuilder = Rebuilder(model, url, model.bootstrap, chunk=CHUNK)

    report = rebuilder.rebuild()
    assert (report.swapped, report.comparison.differing) == (True, 0)
    # Repeats leave no trace in the inbox, and nobody has committed here.
    assert events - REPEATS <= report.events <= events
    assert rows(analytics) == before

    with analytics.db.begin() as conn:
        conn.execute(sa.text("UPDATE order_figures SET captured = 1 WHERE captured IS NOT NULL"))
    falsified = rows(analytics)
    report = rebuilder.rebuild()
    assert not report.swapped and 0 < report.comparison.differing < 60
    assert "captured is 1, rebuilt 1500" in report.comparison.sample[0].what
    assert rows(analytics) == falsified

    assert rebuilder.rebuild(accept=True).swapped
    assert rows(analytics) == before
    assert rebuilder.rollback().swapped
    assert rows(analytics) == falsified
    rebuilder.drop()
