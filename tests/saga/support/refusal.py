"""A fault that only one order meets: the database of one service refuses to store it."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.live_stack import LiveStack

TABLES = {"payment": "payments", "inventory": "reservations"}


@contextmanager
def refused(stack: LiveStack, service: str, order_id: str) -> Iterator[None]:
    """Every write about this order fails meanwhile, as by a wrong rule; then it is mended.

    The rules themselves cannot be changed from outside a running process.
    """
    name, table = "refused_" + order_id.replace("-", "_"), TABLES[service]
    with stack.admin(f"{service}_db") as admin:
        check = f"ALTER TABLE {table} ADD CONSTRAINT {name} CHECK (key <> '{order_id}') NOT VALID"
        admin.execute(check)
    try:
        yield
    finally:
        with stack.admin(f"{service}_db") as admin:
            admin.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
