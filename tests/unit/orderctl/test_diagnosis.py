"""What the doctor makes of what was measured."""

from services.orderctl.diagnosis import unread
from services.orderctl.scrape import parse

AGES = """
# TYPE saga_consumer_unread_seconds gauge
saga_consumer_unread_seconds{group="order"} 0
saga_consumer_unread_seconds{group="email"} 500
saga_consumer_unread_seconds{group="payment"} NaN
"""


def test_an_age_that_nobody_could_tell_is_not_young() -> None:
    assert [problem.text for problem in unread(parse(AGES))] == [
        "email has left an event unread for 500 s",
        "payment has left an event unread for nobody knows how long",
    ]
