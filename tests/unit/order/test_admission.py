"""The door shuts by what is still to be read, whether or not a group has ever read anything."""

from collections.abc import Mapping
from typing import Any

import pytest

from services.eventkit.positions import LATEST, Place
from services.order import admission
from services.order.admission import Admission
from services.order.settings import OrderSettings

PLACES = [("order.events", 0), ("payment.events", 0)]
WRITTEN = 5000


def why_shut(monkeypatch: pytest.MonkeyPatch, committed: Mapping[str, Mapping[Place, int]]) -> Any:
    """What a look at a broker says whose topics each have so many events, all of them young."""

    def offsets(_: Any, places: list[Place], spec: Any, __: float) -> dict[Place, int]:
        return dict.fromkeys(places, WRITTEN if spec is LATEST else 0)

    kit = "services.eventkit.positions"
    monkeypatch.setattr(admission, "event_places", lambda *_: PLACES)
    monkeypatch.setattr(admission, "log_offsets", offsets)
    monkeypatch.setattr(f"{kit}.log_offsets", offsets)
    monkeypatch.setattr(f"{kit}.committed_offsets", lambda _, group, *__: committed.get(group, {}))
    settings = OrderSettings.model_construct(
        kafka_bootstrap="127.0.0.1:1", admission_groups=("inventory",)
    )
    return Admission(settings)._measured()


def test_a_group_that_never_committed_has_all_of_its_topics_to_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert why_shut(monkeypatch, {}) == f"inventory has {WRITTEN} events to read"


def test_a_group_that_has_read_all_shuts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert why_shut(monkeypatch, {"inventory": {("order.events", 0): WRITTEN}}) is None
