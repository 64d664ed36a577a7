"""A connector that stays without a task, or is gone, is made anew; one that starts is not."""

from collections.abc import Mapping
from typing import cast

import pytest

from infra.connect.rest import Connect, NotYet
from infra.connect.taskless import MISSING, PATIENCE_S, TASKLESS, Remaker

NAME = "outbox-order"
CONFIG = {"name": NAME}


class FakeConnect:
    """Remembers what it was asked; deleting may be refused."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.refuses = False

    def delete(self, name: str) -> None:
        """A connector is to be gone."""
        self.asked.append(("delete", name))

    def put_config(self, name: str, config: Mapping[str, str]) -> None:
        """A connector is to be made."""
        assert config == CONFIG
        if self.refuses:
            raise NotYet("Connect answers 409")
        self.asked.append(("put", name))


@pytest.fixture
def fake() -> FakeConnect:
    """Connect."""
    return FakeConnect()


def remaker(fake: FakeConnect, *moments: float) -> Remaker:
    """Looks at these moments."""
    left = list(moments)
    return Remaker(cast(Connect, fake), {NAME: CONFIG}, clock=lambda: left.pop(0))


def test_one_that_stays_without_a_task_is_made_anew_once(fake: FakeConnect) -> None:
    one = remaker(fake, 0, PATIENCE_S - 1, PATIENCE_S, PATIENCE_S + 1)
    assert [one.look(NAME, TASKLESS) for _ in range(4)] == [False, False, True, False]
    assert fake.asked == [("delete", NAME), ("put", NAME)]


def test_one_that_could_not_be_made_at_once_is_made_later(fake: FakeConnect) -> None:
    one = remaker(fake, 0, PATIENCE_S, PATIENCE_S + 1)
    fake.refuses = True
    one.look(NAME, TASKLESS)
    with pytest.raises(NotYet):
        one.look(NAME, TASKLESS)
    fake.refuses = False
    assert one.look(NAME, MISSING)
    assert fake.asked == [("delete", NAME), ("put", NAME)]


def test_one_that_whoever_deleted_it_did_not_make_again_is_made(fake: FakeConnect) -> None:
    """A kill between the two calls: nobody remembers the deletion."""
    one = remaker(fake, 0, PATIENCE_S - 1, PATIENCE_S)
    assert [one.look(NAME, MISSING) for _ in range(3)] == [False, False, True]
    assert fake.asked == [("put", NAME)]


def test_one_that_gets_its_task_in_time_is_let_alone(fake: FakeConnect) -> None:
    one = remaker(fake, 0, PATIENCE_S + 1)
    for problem in (TASKLESS, "replication slot not active", TASKLESS):
        one.look(NAME, problem)
    assert fake.asked == []
