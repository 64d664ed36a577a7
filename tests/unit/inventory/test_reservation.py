"""One order and its stock: all lines or none, and each piece given back once."""

from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from services.eventkit.decision import Event
from services.inventory.domain import (
    CANCELLED,
    REJECTED,
    RELEASED,
    RESERVED,
    Line,
    Stock,
    stock_key,
)
from services.inventory.handlers import HANDLERS
from tests.unit.ruleset import ORDER, Ruleset, event, sequences


def placed(*lines: tuple[str, int], key: str = ORDER, tenant: str = "demo") -> Event:
    asked = [{"sku": sku, "quantity": quantity, "unit_price": 250} for sku, quantity in lines]
    data = {"lines": asked, "total": 500, "currency": "EUR", "payment_token": "tok_ok"}
    return event("OrderPlaced", data, key, tenant)


def cancelled(key: str = ORDER) -> Event:
    data = {"customer_id": "c-1", "total": 500, "currency": "EUR", "reason": "customer_request"}
    return event("OrderCancelled", data, key)


def shop(**stock: int) -> Ruleset:
    rows = {
        stock_key("demo", sku): Stock("demo", sku, pieces, pieces, 0)
        for sku, pieces in stock.items()
    }
    return Ruleset(HANDLERS, dict(rows))


def levels(rules: Ruleset, sku: str) -> tuple[int, int, int]:
    row = rules.related[stock_key("demo", sku)]
    return row.imported, row.available, row.held


def emitted(rules: Ruleset) -> list[tuple[str, dict[str, Any]]]:
    return [(emit.type, dict(emit.data)) for _, emit in rules.emitted]


def test_every_line_is_held_and_payment_is_told_what_to_charge() -> None:
    rules = shop(A=5, B=2)
    decision = rules.give(placed(("A", 2), ("B", 2)))
    assert decision.outcome == "applied"
    assert emitted(rules) == [
        ("StockReserved", {"amount": 500, "currency": "EUR", "payment_token": "tok_ok"})
    ]
    assert levels(rules, "A") == (5, 3, 2)
    assert levels(rules, "B") == (2, 0, 2)
    assert rules.states[ORDER].status == RESERVED
    assert rules.states[ORDER].lines == (Line("A", 2), Line("B", 2))


def test_c03_one_short_line_of_several_holds_nothing() -> None:
    rules = shop(A=5, B=0, C=5)
    rules.give(placed(("A", 1), ("B", 1), ("C", 1)))
    assert emitted(rules) == [
        ("StockRejected", {"short": [{"sku": "B", "wanted": 1, "available": 0}]})
    ]
    assert [levels(rules, sku) for sku in "ABC"] == [(5, 5, 0), (0, 0, 0), (5, 5, 0)]
    assert rules.states[ORDER].status == REJECTED
    assert rules.states[ORDER].lines == ()


def test_every_short_sku_is_named_and_an_unknown_one_has_nothing() -> None:
    rules = shop(A=1)
    rules.give(placed(("A", 2), ("ghost", 1)))
    assert emitted(rules)[0][1]["short"] == [
        {"sku": "A", "wanted": 2, "available": 1},
        {"sku": "ghost", "wanted": 1, "available": 0},
    ]


def test_a_repeated_sku_is_summed_before_it_is_compared() -> None:
    rules = shop(A=3)
    rules.give(placed(("A", 2), ("A", 2)))
    assert emitted(rules)[0][1]["short"] == [{"sku": "A", "wanted": 4, "available": 3}]
    rules = shop(A=4)
    rules.give(placed(("A", 2), ("A", 2)))
    assert levels(rules, "A") == (4, 0, 4)


def test_c01_the_last_piece_goes_to_one_order_of_a_batch() -> None:
    rules = shop(A=1)
    keys = [str(uuid4()) for _ in range(20)]
    for key in keys:
        rules.give(placed(("A", 1), key=key))
    assert [rules.types(key) for key in keys] == [["StockReserved"]] + [["StockRejected"]] * 19
    assert levels(rules, "A") == (1, 0, 1)


def test_a_released_piece_can_be_held_by_the_next_order_of_the_batch() -> None:
    rules = shop(A=1)
    other = str(uuid4())
    for given in (placed(("A", 1)), cancelled(), placed(("A", 1), key=other)):
        rules.give(given)
    assert rules.types(other) == ["StockReserved"]


def test_stock_is_per_tenant() -> None:
    rules = shop(A=5)
    rules.give(placed(("A", 1), tenant="other"))
    assert rules.types() == ["StockRejected"]
    assert levels(rules, "A") == (5, 5, 0)


def test_c07_stock_comes_back_once_whatever_repeats() -> None:
    rules = shop(A=5)
    rules.give(placed(("A", 2), ("A", 1)))
    outcomes = [rules.give(cancelled()).outcome for _ in range(3)]
    assert outcomes == ["applied", "ignored:already_released", "ignored:already_released"]
    assert emitted(rules)[1:] == [("StockReleased", {"lines": [{"sku": "A", "quantity": 3}]})]
    assert levels(rules, "A") == (5, 5, 0)
    assert rules.states[ORDER].status == RELEASED
    assert rules.states[ORDER].version == 2


def test_c06_a_cancel_before_its_placement_leaves_a_tombstone() -> None:
    rules = shop(A=5)
    assert rules.give(cancelled()).outcome == "applied"
    assert rules.give(placed(("A", 1))).outcome == "ignored:order_cancelled"
    assert rules.give(cancelled()).outcome == "ignored:order_cancelled"
    assert rules.states[ORDER].status == CANCELLED
    assert levels(rules, "A") == (5, 5, 0)
    assert emitted(rules) == []


def test_a_rejected_order_has_nothing_to_give_back() -> None:
    rules = shop(A=0)
    rules.give(placed(("A", 1)))
    assert rules.give(cancelled()).outcome == "ignored:already_rejected"
    assert levels(rules, "A") == (0, 0, 0)


def test_a_placement_repeated_under_a_new_id_holds_once() -> None:
    rules = shop(A=5)
    rules.give(placed(("A", 2)))
    assert rules.give(placed(("A", 2))).outcome == "ignored:already_reserved"
    rules.give(cancelled())
    assert rules.give(placed(("A", 2))).outcome == "ignored:already_released"
    assert levels(rules, "A") == (5, 5, 0)


@pytest.mark.parametrize("pieces", [0, 5])
def test_any_order_and_number_of_inputs_ends_in_the_same_truth(pieces: int) -> None:
    inputs = {"placed": placed(("A", 2), ("B", 1)), "cancelled": cancelled()}
    for names in sequences(inputs, length=5):
        rules = shop(A=5, B=pieces)
        for name in names:
            rules.give(replace(inputs[name], id=uuid4()))
        held = bool(pieces) and set(names) == {"placed"}
        assert levels(rules, "A") == ((5, 3, 2) if held else (5, 5, 0)), names
        assert rules.types().count("StockReserved") <= 1, names
        assert rules.types().count("StockReleased") <= 1, names
        if names[0] == "cancelled":
            assert rules.types() == [], names


@pytest.mark.parametrize(
    "lines",
    [
        [("A", -4)],
        [("A", 0)],
        [("A", 5), ("B", -4)],
        [("", 1)],
        [("A", 10_001)],
        [],
        [("A", 1)] * 101,
    ],
    ids=["negative", "zero", "one negative of two", "no sku", "too many", "no line", "too long"],
)
def test_c20_a_placement_no_api_would_accept_is_refused(lines: list[tuple[str, int]]) -> None:
    rules = shop(A=50_000, B=5)
    with pytest.raises(ValueError, match=r"line|quantity"):
        rules.give(placed(*lines))
    assert levels(rules, "A") == (50_000, 50_000, 0)
