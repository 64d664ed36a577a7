"""Whatever arrives for however many orders: no piece is lost, made up, or held for nobody."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from services.eventkit.decision import Event
from services.inventory.domain import RESERVED
from tests.unit.inventory.test_reservation import cancelled, levels, placed, shop

ORDERS = [f"order-{number}" for number in range(4)]
SKUS = ["A", "B", "C"]

lines = st.lists(st.tuples(st.sampled_from(SKUS), st.integers(1, 4)), min_size=1, max_size=4)
placements = st.builds(lambda key, asked: placed(*asked, key=key), st.sampled_from(ORDERS), lines)
cancels = st.builds(cancelled, st.sampled_from(ORDERS))


@settings(max_examples=150, deadline=None)
@given(
    stock=st.fixed_dictionaries({sku: st.integers(0, 8) for sku in SKUS}),
    inputs=st.lists(st.one_of(placements, cancels), max_size=25),
)
def test_held_is_exactly_what_reservations_hold(stock: dict[str, int], inputs: list[Event]) -> None:
    rules = shop(**stock)
    for one in inputs:
        rules.give(one)
        holding: Counter[str] = Counter()
        for reservation in rules.states.values():
            if reservation.status == RESERVED:
                holding.update({line.sku: line.quantity for line in reservation.lines})
        for sku in SKUS:
            imported, available, held = levels(rules, sku)
            assert imported == stock[sku] == available + held
            assert available >= 0
            assert held == holding[sku]
    for key in ORDERS:
        types = Counter(rules.types(key))
        assert types["StockReserved"] + types["StockRejected"] <= 1
        assert types["StockReleased"] <= types["StockReserved"]
        if key in rules.states:
            assert rules.states[key].version == sum(types.values())
