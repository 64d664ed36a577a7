"""What comes from data is shown as it is: brackets in a key or an error are no markup."""

from datetime import UTC, datetime

import pytest
from rich.console import Console, RenderableType

from services.orderctl import tasks
from services.orderctl.commands import dlq
from services.orderctl.commands.show import _facts
from services.orderctl.console import cells
from services.orderctl.operations import Aside, Decided
from services.orderctl.rich_timeline import timeline_table
from services.orderctl.timeline import Entry

ODD = "[/x] [red]"


def shown(what: RenderableType) -> str:
    """As a wide terminal has it."""
    console = Console(width=400)
    with console.capture() as captured:
        console.print(what)
    return captured.get()


def letter() -> Aside:
    since = datetime(2026, 1, 31, tzinfo=UTC)
    return Aside("order", "letter", ODD, ODD, ODD, "dead", ODD, ODD, 1, since, ODD)


def test_cells_are_text() -> None:
    assert [cell.plain for cell in cells(ODD, None, 7, ["a", "b"])] == [ODD, "", "7", "a, b"]


def test_a_letter_with_an_odd_key_can_be_listed() -> None:
    assert shown(dlq._table([letter()])).count(ODD) == 5
    assert ODD in shown(dlq._histogram([letter()]))


def test_a_decision_about_an_odd_key_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    dlq._show_decided([Decided("order", "id", ODD, "redriven", ODD)], json=False)
    assert capsys.readouterr().out.count(ODD) == 2


def test_an_order_with_an_odd_sku_and_customer_can_be_shown() -> None:
    order = {
        "order_id": "o",
        "status": "pending",
        "customer_id": ODD,
        "total": 1,
        "currency": "EUR",
        "lines": [{"quantity": 1, "sku": ODD, "unit_price": 1}],
        "placed_at": "",
        "pay_by": "",
    }
    assert shown(_facts(order)).count(ODD) == 2


def test_work_with_an_odd_field_can_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    tasks.show({"error": ODD}, json=False)
    tasks.show_all([{"error": ODD}], ["error"], json=False)
    assert capsys.readouterr().out.count(ODD) == 2


def test_a_timeline_with_an_odd_reason_can_be_shown() -> None:
    at = datetime(2026, 1, 31, tzinfo=UTC)
    one = Entry("m", "OrderCancelled", "/services/order", 2, at, None, {"reason": ODD})
    assert ODD in shown(timeline_table([one]))
