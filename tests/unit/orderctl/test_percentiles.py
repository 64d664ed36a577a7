import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.orderctl.percentiles import percentile, percentiles


def test_nearest_rank() -> None:
    samples = [15.0, 20.0, 35.0, 40.0, 50.0]
    assert [percentile(samples, p) for p in (5, 30, 40, 50, 100)] == [15, 20, 20, 35, 50]


def test_no_samples() -> None:
    assert percentiles([]) is None
    with pytest.raises(ValueError, match="no samples"):
        percentile([], 50)


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_percentiles_are_measured_values_in_order(samples: list[float]) -> None:
    found = percentiles(samples)
    assert found is not None
    assert {found.p50, found.p95, found.p99} <= set(samples)
    assert min(samples) <= found.p50 <= found.p95 <= found.p99 <= found.max == max(samples)
