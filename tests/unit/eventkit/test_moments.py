"""A point in time is taken where it is written out, and a bare number is none."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from services.eventkit.moments import Moment

TAKEN: TypeAdapter[datetime] = TypeAdapter(Moment)


@pytest.mark.parametrize(
    "text", ["2026-01-31T09:15:00Z", "2026-01-31t10:15:00.000000+01:00", "2026-01-31T09:15:00.0z"]
)
def test_what_is_written_out_is_taken(text: str) -> None:
    assert TAKEN.validate_python(text) == datetime(2026, 1, 31, 9, 15, tzinfo=UTC)


@pytest.mark.parametrize("wrong", ["18", 18, "2026-01-31", "2026-01-31T09:15:00", "", None])
def test_anything_else_is_not(wrong: Any) -> None:
    with pytest.raises(ValidationError):
        TAKEN.validate_python(wrong)
