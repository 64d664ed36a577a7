"""What payment forgets: what the provider has told, once nobody can tell it again."""

from collections.abc import Sequence
from datetime import timedelta

from services.eventkit.retention import prune
from services.eventkit.service import Runtime
from services.eventkit.upkeep import Chore
from services.payment.confirmations import OLD
from services.payment.domain import Payment
from services.payment.settings import PaymentSettings

_OFTEN = 600.0


def chores(runtime: Runtime[Payment, PaymentSettings]) -> Sequence[Chore]:
    """The chores of a running payment service."""
    week = timedelta(seconds=runtime.settings.retention)
    return (
        Chore("prune_notices", _OFTEN, lambda: prune(runtime.db, "provider_events", OLD, week)),
    )
