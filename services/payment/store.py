"""All SQL of payment: one row per order, loaded and saved set by set."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.engine import Connection

from services.eventkit import db
from services.eventkit.decision import Event
from services.payment.domain import Payment
from services.payment.tables import payments

FIELDS = [field.name for field in fields(Payment)]
_WANTED = sa.select(payments).where(
    payments.c.key == sa.any_(sa.bindparam("keys", type_=ARRAY(sa.Text)))
)


class PaymentStore:
    """Loads and saves payments."""

    def load(self, conn: Connection, keys: Sequence[str]) -> dict[str, Payment]:
        """The payments of these orders; one never seen is left out."""
        found = conn.execute(_WANTED, {"keys": list(keys)})
        return {
            row["key"]: Payment(**{name: row[name] for name in FIELDS}) for row in found.mappings()
        }

    def related(
        self,
        conn: Connection,
        events: Sequence[Event],
        states: Mapping[str, Payment],
    ) -> dict[str, Any]:
        """Nothing: a payment stands alone."""
        return {}

    def save(
        self,
        conn: Connection,
        states: Mapping[str, Payment],
        related: Mapping[str, Any],
    ) -> None:
        """Writes the changed payments in one statement."""
        db.upsert_rows(conn, payments, [asdict(states[key]) for key in sorted(states)])


def payment_of(conn: Connection, tenant_id: str, order_id: str) -> Payment | None:
    """An order's payment, or None; another tenant's is None too."""
    found = PaymentStore().load(conn, [order_id]).get(order_id)
    return found if found is not None and found.tenant_id == tenant_id else None
