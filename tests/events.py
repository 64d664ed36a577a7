"""Helpers for unit tests of rules: events and facts without ceremony."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from services.eventkit.decision import Event

NOW = datetime(2026, 1, 31, 9, 15, tzinfo=UTC)
KEY = "0b54b3a4-6d0e-4b0a-9f3e-1d2c3b4a5f60"


def event(type_: str, data: dict[str, Any] | None = None, **overrides: Any) -> Event:
    """An event of the order `KEY`, with an id of its own."""
    fields: dict[str, Any] = {
        "id": uuid4(),
        "type": type_,
        "key": KEY,
        "data": data or {},
        "tenant_id": "demo",
        "actor_id": "customer-1",
        "correlation_id": str(UUID(int=1)),
        "time": NOW,
        "sequence": 1,
        "source": "test",
    }
    return Event(**fields | overrides)
