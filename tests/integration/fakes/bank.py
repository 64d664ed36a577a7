"""What a merchant asks of the payment provider, in short."""

from typing import Any
from uuid import uuid4

import httpx


def new_key() -> str:
    """A key no other test uses."""
    return f"payment:{uuid4()}"


def charge(
    client: httpx.Client, key: str, token: str = "tok_ok", amount: int = 4200, **more: Any
) -> httpx.Response:
    """Ask for a charge."""
    ask = {"amount": amount, "currency": "EUR", "token": token, "reference": key}
    return client.post("/charges", headers={"Idempotency-Key": key}, json={**ask, **more})


def refund(client: httpx.Client, key: str, charge_key: str, amount: int) -> httpx.Response:
    """Ask for a refund."""
    ask = {"charge_key": charge_key, "amount": amount}
    return client.post("/refunds", headers={"Idempotency-Key": key}, json=ask)


def status(client: httpx.Client, key: str) -> str:
    """What the provider says about a charge."""
    answer = client.get(f"/charges/{key}")
    return str(answer.json()["status"]) if answer.status_code == 200 else "none"


def moved(client: httpx.Client, charge_key: str) -> list[tuple[str, int]]:
    """The money that moved for a charge, oldest first."""
    entries: list[dict[str, Any]] = []
    after: int | None = 0
    while after is not None:
        page = client.get("/ledger", params={"after": after, "limit": 50}).json()
        entries += page["entries"]
        after = page["next_after"]
    return [(e["kind"], e["amount"]) for e in entries if e["charge_key"] == charge_key]


def requests_of(client: httpx.Client, key: str) -> list[tuple[str, str, int]]:
    """Method, path and answer of every request made under a key."""
    log = client.get("/requests", params={"key": key}).json()["requests"]
    return [(r["method"], r["path"], r["answer"]) for r in log]
