"""Where a time stands in a log."""

import pytest

from services.eventkit.positions import since


@pytest.mark.parametrize(("unix_ms", "asked"), [(5, 5), (0, 0), (-1, 0), (-86_400_000, 0)])
def test_a_time_before_1970_means_all_and_not_the_end(unix_ms: int, asked: int) -> None:
    """Kafka reads negative timestamps as special offsets; -1 is the end of the log."""
    assert since(unix_ms).timestamp == asked
