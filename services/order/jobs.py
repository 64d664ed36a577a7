"""What the order service waits for: its only job is a deadline, which calls nobody."""

from collections.abc import Sequence

from services.eventkit.jobs import JobKind
from services.order.domain import DEADLINE
from services.order.settings import OrderSettings


def job_kinds(settings: OrderSettings) -> Sequence[JobKind]:
    """The job kinds of the service."""
    return [JobKind(DEADLINE, max_attempts=None)]
