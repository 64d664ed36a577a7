"""The words of an order."""

import random

import pytest

from services.projector.search import OrderSearch, fold
from services.projector.views import TimelineEntry
from tests.unit.projector.stories import CONFIRMED, ORDER, OUT_OF_STOCK, STORIES, entries


def words(*steps: TimelineEntry) -> set[str]:
    row: OrderSearch | None = None
    for entry in steps:
        row = fold(row, [entry])
    assert row is not None
    found = row.words.split(" ")
    assert found == sorted(set(found))
    return set(found)


def test_an_order_is_found_by_whatever_names_it() -> None:
    assert words(*entries(CONFIRMED)) == {str(ORDER), "c-1", "EUR", "CUP", "p-1", "confirmed"}
    assert {"out_of_stock", "unknown_contact"} <= words(*entries(OUT_OF_STOCK))


def test_no_secret_is_a_word() -> None:
    placed, *_ = entries(CONFIRMED)
    assert not [word for word in words(placed) if word.startswith("tok")]


@pytest.mark.parametrize("name", STORIES)
def test_any_arrival_order_with_repeats_gives_the_same_words(name: str) -> None:
    steps = entries(STORIES[name])
    wanted = words(*steps)
    for seed in range(20):
        mixed = [*steps, *steps[::2]]
        random.Random(seed).shuffle(mixed)
        assert words(*mixed) == wanted
