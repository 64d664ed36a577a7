"""A connector that stays without a task is made anew, one that is only starting is not."""

from collections.abc import Mapping
from typing import cast

from infra.connect.rest import Connect
from infra.connect.taskless import MISSING, PATIENCE_S, TASKLESS, Remaker

CONFIG = {"name": "outbox-order"}


class FakeConnect:
    """Remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def delete(self, name: str) -> None:
        """A connector is to be gone."""
        self.asked.append(("delete", name))

    def put_config(self, name: str, config: Mapping[str, str]) -> None:
        """A connector is to be made."""
        assert config == CONFIG
        self.asked.append(("put", name))


def remaker(fake: FakeConnect, moments: list[float]) -> Remaker:
    """Looks at these moments."""
    return Remaker(cast(Connect, fake), {"order": CONFIG}, clock=lambda: moments.pop(0))


def test_one_that_stays_without_a_task_is_made_anew_once() -> None:
    fake = FakeConnect()
    one = remaker(fake, [0, PATIENCE_S - 1, PATIENCE_S, PATIENCE_S + 1])
    for _ in range(4):
        one.look({"order": TASKLESS})
    assert fake.asked == [("delete", "outbox-order"), ("put", "outbox-order")]


def test_one_that_is_gone_meanwhile_is_made() -> None:
    fake = FakeConnect()
    remaker(fake, [0]).look({"order": MISSING})
    assert fake.asked == [("put", "outbox-order")]


def test_one_that_gets_its_task_in_time_is_let_alone() -> None:
    fake = FakeConnect()
    one = remaker(fake, [0, 10, PATIENCE_S + 1])
    for problem in (TASKLESS, "replication slot not active", TASKLESS):
        one.look({"order": problem})
    assert fake.asked == []
