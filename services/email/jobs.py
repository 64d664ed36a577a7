"""What email asks of the mail server: one mail for each ending of an order."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import sqlalchemy as sa

from services.email.domain import KINDS, job_of
from services.email.mail import InvalidContact, build
from services.email.settings import EmailSettings
from services.email.smtp import MailServer
from services.email.store import Contact, contact_of
from services.eventkit.db import make_engine
from services.eventkit.jobs import JobContext, JobKind, Refused, needing

REMOTE = "mail_server"
WAITS_PER_MAIL = 8
"""Connecting, and the answers to all commands of one mail."""

FindContact = Callable[[str, str], Contact | None]
"""The contact of a tenant's customer, or None."""


@dataclass(frozen=True, slots=True)
class Calls:
    """The outside calls of email's jobs."""

    server: MailServer
    find_contact: FindContact

    def send_mail(self, kind: str, job: JobContext) -> Mapping[str, Any]:
        """Mail the customer, at the address that is known now; `Refused` where none is."""
        contact = self.find_contact(job.tenant_id, job.args["customer_id"])
        if contact is None:
            raise Refused("unknown_contact")
        try:
            mail = build(job.key, kind, job.args, contact)
        except InvalidContact:
            raise Refused("invalid_contact") from None
        self.server.send(mail)
        return {}


def kinds(settings: EmailSettings) -> Sequence[JobKind]:
    """One kind of job for each kind of message, all in the bulkhead of the one mail server."""
    server = MailServer(settings.smtp_host, settings.smtp_port, settings.smtp_timeout)
    engine = make_engine(settings.database_url, pool_size=4, name="email-contacts")
    calls = Calls(server, partial(_find_contact, engine))
    return [
        JobKind(
            job_of(kind),
            partial(calls.send_mail, kind),
            REMOTE,
            timeout=WAITS_PER_MAIL * settings.smtp_timeout,
        )
        for kind in KINDS
    ]


def _find_contact(engine: sa.Engine, tenant_id: str, customer_id: str) -> Contact | None:
    with needing("contacts"), engine.begin() as conn:
        return contact_of(conn, tenant_id, customer_id)
