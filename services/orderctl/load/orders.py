"""The orders of a load: what each asks for, and the goods they need."""

from typing import Any
from uuid import uuid4

from services.orderctl.client import Shop
from services.orderctl.mix import Kind

CURRENCY = "EUR"
SKUS = tuple(f"MUG-{number:02d}" for number in range(1, 21))
NEVER_STOCKED = "UNICORN"
CUSTOMERS = tuple(f"load-customer-{number:02d}" for number in range(1, 11))


def order_body(kind: Kind, number: int) -> dict[str, Any]:
    """The request that places the ``number``-th order; two lines, of which one may be short."""
    first, second = SKUS[number % len(SKUS)], SKUS[(number * 7 + 3) % len(SKUS)]
    lines = {first: 1 + number % 3, second: 1}
    if kind.short:
        lines[NEVER_STOCKED] = 1
    body: dict[str, Any] = {
        "customer_id": CUSTOMERS[number % len(CUSTOMERS)],
        "currency": CURRENCY,
        "payment_token": kind.token,
        "lines": [
            {"sku": sku, "quantity": quantity, "unit_price": 900 + 50 * (number % 13)}
            for sku, quantity in lines.items()
        ],
    }
    if kind.pay_within is not None:
        body["pay_within"] = kind.pay_within
    return body


def request_headers() -> dict[str, str]:
    """A fresh idempotency key for each order."""
    return {"Idempotency-Key": str(uuid4())}


def prepare(shop: Shop, orders: int) -> None:
    """Register the customers' addresses and book in enough goods for that many orders."""
    for customer in CUSTOMERS:
        shop.put_contact(customer, customer.replace("-", " ").title(), f"{customer}@example.test")
    shop.receive_stock(dict.fromkeys(SKUS, 4 * orders))
