"""The projection ends in the same view, whatever the order and the number of deliveries."""

import random
from functools import reduce
from itertools import islice, permutations
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.projector.views import (
    PROJECTIONS,
    OrderView,
    TimelineEntry,
    is_repeat_or_older,
    project,
)
from services.projector.views import fold as fold_at_once
from tests.unit.projector import stories


def fold(entries: list[TimelineEntry]) -> OrderView:
    view: OrderView | None = None
    for entry in entries:
        view = project(view, entry)
    assert view is not None
    return view


@pytest.mark.parametrize("name", stories.STORIES)
def test_every_arrival_order_ends_in_the_same_view(name: str) -> None:
    happened = stories.entries(stories.STORIES[name])
    expected = fold(happened)
    orders = list(permutations(happened)) if len(happened) < 8 else _some_orders(happened, 1500)
    assert {repr(fold(list(arrived))) for arrived in orders} == {repr(expected)}


def _some_orders(happened: list[TimelineEntry], count: int) -> list[tuple[TimelineEntry, ...]]:
    rng = random.Random(7)
    shuffled = (tuple(rng.sample(happened, len(happened))) for _ in range(count))
    return [*shuffled, *islice(permutations(happened), count)]


@given(st.data(), st.sampled_from(sorted(stories.STORIES)))
def test_repeats_change_nothing(data: st.DataObject, name: str) -> None:
    happened = stories.entries(stories.STORIES[name])
    repeats = data.draw(st.lists(st.sampled_from(happened), max_size=8))
    renamed = [entry._replace(message_id=uuid4(), offset=entry.offset + 100) for entry in repeats]
    arrived = data.draw(st.permutations([*happened, *repeats, *renamed]))
    assert fold(arrived) == fold(happened)


@given(st.data(), st.sampled_from(sorted(stories.STORIES)))
def test_several_events_at_once_give_what_one_after_the_other_gives(
    data: st.DataObject, name: str
) -> None:
    arrived = data.draw(st.permutations(stories.entries(stories.STORIES[name])))
    at = data.draw(st.integers(1, len(arrived) - 1))
    assert fold_at_once(fold_at_once(None, arrived[:at]), arrived[at:]) == fold(arrived)


def test_every_event_of_every_story_is_projected() -> None:
    told = {step[0] for story in stories.STORIES.values() for step in story}
    assert told == set(PROJECTIONS)


def test_a_confirmed_order_in_full() -> None:
    view = fold(stories.entries(stories.CONFIRMED))
    assert (view.status, view.reason, view.order_sequence) == ("confirmed", None, 2)
    assert (view.total, view.currency, view.lines) == (1500, "EUR", stories.LINES)
    assert (view.reservation_status, view.payment_status, view.captured) == (
        "reserved",
        "captured",
        1500,
    )
    assert (view.message_kind, view.message_status) == ("confirmed", "sent")
    assert view.placed_at == view.began_at == stories.BEGAN
    assert view.ended_at is not None
    assert view.ended_at < view.updated_at  # the mail comes after the ending


def test_c55_an_older_event_fills_columns_and_overwrites_nothing() -> None:
    happened = stories.entries(stories.CONFIRMED)
    placed, confirmed = happened[0], happened[3]
    only_the_ending = fold([confirmed])
    assert (only_the_ending.status, only_the_ending.lines) == ("confirmed", None)
    both = project(only_the_ending, placed)
    assert (both.status, both.order_sequence) == ("confirmed", 2)
    assert (both.lines, both.placed_at) == (stories.LINES, placed.time)
    again = project(both, placed._replace(message_id=uuid4()))
    assert again == both


@pytest.mark.parametrize(("cancel", "place"), [(2, 1), (1, 1), (1, 2)])
def test_c06_a_cancel_before_its_placement_stays_cancelled(cancel: int, place: int) -> None:
    cancelled = stories.entry(
        ("OrderCancelled", cancel, {**stories.CLOSED, "reason": "customer_request"}), 1
    )
    placed = stories.entry(("OrderPlaced", place, stories.PLACED), 0)
    for arrived in ([cancelled, placed], [placed, cancelled]):
        view = fold(arrived)
        assert (view.status, view.reason) == ("cancelled", "customer_request")
        assert (view.lines, view.began_at) == (stories.LINES, placed.time)


def test_a_reason_goes_with_the_status_it_explains() -> None:
    view = reduce(project, stories.entries(stories.REFUND_IN_TROUBLE)[1:], fold_first())
    assert (view.status, view.reason) == ("cancelled", "customer_request")
    assert (view.payment_status, view.payment_reason) == ("refunded", None)
    assert (view.captured, view.refunded) == (1500, 1500)


def fold_first() -> OrderView:
    return project(None, stories.entries(stories.REFUND_IN_TROUBLE)[0])


def test_what_counts_as_older() -> None:
    placed, _, _, confirmed, _ = stories.entries(stories.CONFIRMED)
    assert not is_repeat_or_older(None, placed)
    assert is_repeat_or_older(fold([confirmed]), placed)
    assert not is_repeat_or_older(fold([placed]), confirmed)
