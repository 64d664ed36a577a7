"""What is asked of the broker: where a time stands in a log, and who is in a group."""

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from services.eventkit.positions import Unreachable, described_groups, group_positions, since


@pytest.mark.parametrize(("unix_ms", "asked"), [(5, 5), (0, 0), (-1, 0), (-86_400_000, 0)])
def test_a_time_before_1970_means_all_and_not_the_end(unix_ms: int, asked: int) -> None:
    """Kafka reads negative timestamps as special offsets; -1 is the end of the log."""
    assert since(unix_ms).timestamp == asked


def broker(**answers: Any) -> AdminClient:
    """An admin client that describes groups so, or raises an error of that code."""

    def describe(groups: list[str], **_: Any) -> dict[str, "Future[Any]"]:
        return {group: answer(answers[group]) for group in groups}

    return cast(AdminClient, SimpleNamespace(describe_consumer_groups=describe))


def answer(what: Any) -> "Future[Any]":
    made: Future[Any] = Future()
    if isinstance(what, int):
        made.set_exception(KafkaException(KafkaError(what)))
    else:
        made.set_result(what)
    return made


def test_a_group_that_nobody_ever_joined_is_none() -> None:
    groups = broker(a="described", b=KafkaError.GROUP_ID_NOT_FOUND)
    found: dict[str, Any] = dict(described_groups(groups, ["a", "b"]))
    assert found == {"a": "described", "b": None}


@pytest.mark.parametrize("code", [KafkaError._TIMED_OUT, KafkaError.NOT_COORDINATOR])
def test_a_group_that_is_not_described_is_not_an_empty_one(code: int) -> None:
    with pytest.raises(Unreachable):
        described_groups(broker(a="described", b=code), ["a", "b"])


STARTS = {("order.events", 0): 3, ("order.events", 1): 0, ("email.events", 0): 7}


def test_a_group_that_has_committed_nothing_begins_where_the_log_does() -> None:
    assert group_positions(["order.events"], {}, STARTS) == {
        ("order.events", 0): 3,
        ("order.events", 1): 0,
    }


def test_what_was_committed_counts_and_topics_that_nobody_reads_do_not() -> None:
    committed = {("order.events", 1): 5}
    expected = {("order.events", 0): 3, ("order.events", 1): 5}
    assert group_positions(["order.events"], committed, STARTS) == expected
    assert group_positions([], committed, STARTS) == expected, "a topic of which it has read a part"
    assert group_positions([], {}, STARTS) == {}
