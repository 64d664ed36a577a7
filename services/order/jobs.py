"""What the order service waits for: deadlines, which call nobody, and webhooks."""

from collections.abc import Sequence

from services.eventkit.db import make_engine
from services.eventkit.jobs import JobKind
from services.order import calling
from services.order.domain import DEADLINE
from services.order.sending import Sender
from services.order.settings import OrderSettings
from services.order.webhooks import JOB

WAITS_PER_CALL = calling.WAITS + 1
"""Those of a call, and one for a name that takes long: the resolver has a time of its own."""


def job_kinds(settings: OrderSettings) -> Sequence[JobKind]:
    """The job kinds of the service.

    An attempt that a receiver lets fail is a result: when it is made again is decided by a rule.
    """
    timeout = settings.webhook_timeout
    db = make_engine(settings.database_url, pool_size=2, name="order-webhooks")
    sender = Sender(db, settings.webhook_private_targets, timeout)
    return [
        JobKind(DEADLINE, max_attempts=None),
        JobKind(JOB, sender.send, "webhooks", timeout=WAITS_PER_CALL * timeout),
    ]
