"""What payment forgets."""

from datetime import timedelta
from uuid import uuid4

import sqlalchemy as sa

from services.eventkit.retention import prune
from services.payment.confirmations import OLD, Charge, Notice, take_in
from tests.integration.scratch import Scratch


def test_what_the_provider_has_told_is_forgotten_once_it_is_old(payment: Scratch) -> None:
    charge = Charge(reference=uuid4(), status="captured", amount=100, currency="EUR")
    notice = Notice(type="charge.captured", data=charge)
    for webhook_id in ("old", "new"):
        with payment.db.begin() as conn:
            assert take_in(conn, webhook_id, notice)
    with payment.db.begin() as conn:
        conn.execute(
            sa.text(
                "UPDATE provider_events SET received_at = now() - interval '8 days'"
                " WHERE webhook_id = 'old'"
            )
        )
    assert prune(payment.db, "provider_events", OLD, timedelta(days=7)) == 1
    with payment.db.begin() as conn:
        assert not take_in(conn, "new", notice)
