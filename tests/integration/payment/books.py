"""The provider's books: what moved for an order, and what was asked under a key."""

from typing import Any

import httpx


def entries(bank: httpx.Client, order: str) -> list[tuple[str, int]]:
    """The order's captures and refunds, in order."""
    found: list[dict[str, Any]] = bank.get("/ledger").json()["entries"]
    return [(one["kind"], one["amount"]) for one in found if one["reference"] == order]


def asked(bank: httpx.Client, key: str) -> list[str]:
    """Method and answer of every request under a key, in order."""
    found = bank.get("/requests", params={"key": key}).json()["requests"]
    return [f"{one['method']} {one['answer']}" for one in found]
