"""What a chunk of records comes to in a rebuild."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest

from services.eventkit.records import RawRecord
from services.projector import rebuild
from services.projector.projections import OTHERS, VIEW
from services.projector.rebuild import OrderModel
from tests.integration.projector.traffic import told
from tests.unit.projector.stories import CONFIRMED, DECLINED, Step

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
MODEL = OrderModel("http://nowhere")


def records(*orders: tuple[UUID, list[Step]]) -> list[RawRecord]:
    events = [told(step, order_id, AT) for order_id, steps in orders for step in steps]
    return [
        RawRecord(event.topic, 0, offset, event.key.encode(), event.value, event.headers)
        for offset, event in enumerate(events)
    ]


def by_order(rows: Sequence[Any]) -> dict[UUID, Any]:
    return {row.order_id: row for row in rows}


def test_one_row_an_order_and_one_entry_an_event() -> None:
    first, second = uuid4(), uuid4()
    folded = MODEL.fold(records((first, CONFIRMED), (second, DECLINED)))
    views = by_order(folded.rows["order_view"])
    assert {key: view.status for key, view in views.items()} == {
        first: "confirmed",
        second: "cancelled",
    }
    assert by_order(folded.rows["order_search"]).keys() == views.keys()
    assert len(folded.rows["order_timeline"]) == len(CONFIRMED) + len(DECLINED)
    assert folded.letters == []


def test_what_a_rule_refuses_is_raised_and_makes_a_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    def fold(*_: Any) -> None:
        raise ValueError("no such money")

    monkeypatch.setattr(rebuild, "PROJECTIONS", (replace(VIEW, fold=fold), *OTHERS))
    (record,) = records((uuid4(), CONFIRMED[:1]))
    with pytest.raises(ValueError, match="no such money") as raised:
        MODEL.fold([record])
    letter = MODEL.refused(record, raised.value)
    assert (letter["reason"], letter["event_type"]) == ("rule", "OrderPlaced")
