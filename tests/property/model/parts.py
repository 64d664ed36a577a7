"""What a world is built of: the real rules and calls, unless a planted bug replaces one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, cast

from services.analytics.handlers import HANDLERS as ANALYTICS
from services.email.domain import KINDS, job_of, message_id
from services.email.handlers import HANDLERS as EMAIL
from services.eventkit.decision import Handlers
from services.eventkit.jobs import JobContext
from services.inventory.handlers import HANDLERS as INVENTORY
from services.order.domain import DEADLINE
from services.order.handlers import HANDLERS as ORDER
from services.payment.handlers import HANDLERS as PAYMENT
from services.payment.jobs import Calls
from services.payment.provider import Provider as RealProvider
from services.projector.views import project
from tests.property.model.habits import Habits
from tests.property.model.outside import MailServer, Provider
from tests.property.model.read_model import Projection
from tests.property.model.service import Kind

FEW = 2
"""Attempts until a refund or a mail is given up: fewer than in earnest, so that it happens."""

TABLES: Mapping[str, Handlers[Any]] = MappingProxyType(
    {
        "order": ORDER,
        "inventory": INVENTORY,
        "payment": PAYMENT,
        "email": EMAIL,
        "analytics": ANALYTICS,
    }
)


def calls_of(provider: Provider) -> Calls:
    """The real calls of payment's jobs, over the provider of the model."""
    return Calls(cast(RealProvider, provider))


@dataclass(frozen=True, slots=True)
class Parts:
    """The rules by service, the projection, payment's calls, and the habits of all."""

    tables: Mapping[str, Handlers[Any]] = field(default_factory=lambda: TABLES)
    project: Projection = project
    calls: Callable[[Provider], Calls] = calls_of
    habits: Habits = field(default_factory=Habits)


def kinds_of(calls: Calls, mail_server: MailServer) -> Mapping[str, Mapping[str, Kind]]:
    """How the jobs of each service are done, by kind."""
    return {
        "order": {DEADLINE: Kind()},
        "inventory": {},
        "payment": {
            "charge": Kind(calls.charge),
            "void": Kind(calls.void),
            "refund": Kind(calls.refund, FEW),
        },
        "email": {
            job_of(kind): Kind(partial(_send_mail, mail_server, kind), FEW) for kind in KINDS
        },
        "analytics": {},
    }


def _send_mail(mail_server: MailServer, kind: str, job: JobContext) -> Mapping[str, Any]:
    mail_server.send(message_id(job.key, kind))
    return {}
