"""What is kept of an idempotency key, and for how long."""

from datetime import timedelta
from uuid import uuid4

import pytest
import sqlalchemy as sa

from services.eventkit.http import Problem
from services.eventkit.idempotency import Answer, Name, first_answer, prune_keys
from tests.integration.scratch import Scratch

DAY = timedelta(days=1)
ANSWER = Answer(202, {"order_id": "1"})


def _name(tenant: str = "demo", route: str = "POST /orders", key: str = "") -> Name:
    return Name(tenant, route, key or str(uuid4()))


def _ask(orders: Scratch, name: Name, content: object = "tea") -> Answer | None:
    with orders.db.begin() as conn:
        return first_answer(conn, name, content, ANSWER)


def test_a_key_belongs_to_its_tenant_and_route(orders: Scratch) -> None:
    name = _name()
    assert _ask(orders, name) is None
    assert _ask(orders, _name(tenant="other", key=name.key), "coffee") is None
    assert _ask(orders, _name(route="POST /webhooks", key=name.key), "coffee") is None
    assert _ask(orders, name) == Answer(202, {"order_id": "1"}, replayed=True)
    with pytest.raises(Problem) as refused:
        _ask(orders, name, "coffee")
    assert refused.value.status == 422


def test_a_key_whose_request_failed_is_free(orders: Scratch) -> None:
    name = _name()
    with pytest.raises(ZeroDivisionError), orders.db.begin() as conn:
        assert first_answer(conn, name, "tea", ANSWER) is None
        raise ZeroDivisionError
    assert _ask(orders, name, "coffee") is None


def test_a_key_is_kept_for_a_day_and_then_forgotten(orders: Scratch) -> None:
    old, young = _name(), _name()
    for name, age in ((old, "24 hours 1 second"), (young, "23 hours 59 minutes")):
        _ask(orders, name)
        with orders.db.begin() as conn:
            query = "UPDATE idempotency_keys SET created_at = now() - CAST(:age AS interval)"
            conn.execute(sa.text(f"{query} WHERE key = :key"), {"age": age, "key": name.key})
    assert prune_keys(orders.db, DAY) == 1
    assert _ask(orders, old, "coffee") is None
    assert _ask(orders, young) == Answer(202, {"order_id": "1"}, replayed=True)
