"""Where a replay may begin, and what stays put."""

import pytest

from services.projector.replay import (
    Bounds,
    FromBeginning,
    FromOffset,
    FromOffsets,
    PartitionPlan,
    Plan,
    ReplayRefused,
)

READ = Bounds("order.events", 0, log_start=10, log_end=50, position=40)
EMPTY = Bounds("order.events", 1, log_start=0, log_end=0, position=0)


def test_from_the_beginning_is_from_where_the_log_begins() -> None:
    assert FromBeginning().of(READ) == 10
    assert FromBeginning().of(EMPTY) is None


@pytest.mark.parametrize(("offset", "start"), [(10, 10), (39, 39), (40, None), (60, None)])
def test_a_partition_never_moves_forward(offset: int, start: int | None) -> None:
    assert FromOffset(offset).of(READ) == start


def test_an_offset_that_the_log_lost_is_refused_and_named() -> None:
    with pytest.raises(ReplayRefused, match=r"below the start of order.events/0, which is 10"):
        FromOffset(9).of(READ)


@pytest.mark.parametrize(("offsets", "start"), [({0: 12}, 12), ({0: 45}, None), ({1: 12}, None)])
def test_a_partition_has_an_offset_of_its_own(offsets: dict[int, int], start: int | None) -> None:
    assert FromOffsets(offsets).of(READ) == start


@pytest.mark.parametrize(("offset", "why"), [(9, "below the start"), (51, "above the end")])
def test_an_offset_of_its_own_must_be_in_the_log(offset: int, why: str) -> None:
    with pytest.raises(ReplayRefused, match=f"offset {offset} is {why} of order.events/0"):
        FromOffsets({0: offset}).of(READ)


def test_a_plan_counts_what_will_be_read() -> None:
    plan = Plan([PartitionPlan(READ, 20), PartitionPlan(EMPTY, None)])
    assert plan.records == 30  # 20 that were read before, 10 that were not read yet
    assert [part.place for part in plan.moved] == [("order.events", 0)]
    assert [part.place for part in plan.unmoved] == [("order.events", 1)]
