"""Golden timelines: stored trees of causes that a person can read, one a file."""

import os
from pathlib import Path

from tests.saga.support.saga import Saga
from tests.saga.support.wait import eventually

FOLDER = Path(__file__).resolve().parents[1] / "golden"


def matches(saga: Saga, order_id: str, name: str) -> None:
    """The order's timeline becomes the stored one; UPDATE_GOLDEN=1 stores it instead."""
    path = FOLDER / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        saga.verify()
        path.write_text(saga.timeline(order_id))
        return
    expected = path.read_text()

    def same() -> None:
        assert saga.timeline(order_id) == expected

    eventually(same)
