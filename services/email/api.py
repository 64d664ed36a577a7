"""The API of email: keep customers' contacts, read what was mailed about an order."""

import re
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from services.email import store
from services.email.domain import Mailing, message_id
from services.email.mail import is_plain_name
from services.email.settings import EmailSettings
from services.email.store import Contact
from services.eventkit.access import Tenant
from services.eventkit.http import EVERYWHERE, Problem, problem_responses
from services.eventkit.service import Runtime

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_ADDRESS = re.compile(
    r"(?=[^@]{1,64}@)"  # the longest local part that SMTP knows
    rf"{_ATOM}(?:\.{_ATOM})*@{_LABEL}(?:\.{_LABEL})+"
)


def _plain_name(name: str) -> str:
    if not is_plain_name(name):
        raise ValueError("must be one line of printable characters")
    return name


def _mailbox(address: str) -> str:
    if not _ADDRESS.fullmatch(address):
        raise ValueError("must be an address such as ada@shop.example")
    return address


CustomerId = Annotated[
    str, Path(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_.\-]+$", examples=["customer-1"])
]
OrderId = Annotated[UUID, Path(examples=["0b54b3a4-6d0e-4b0a-9f3e-1d2c3b4a5f60"])]


class ContactBody(BaseModel):
    """Where a customer can be reached."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, AfterValidator(_plain_name)] = Field(
        min_length=1, max_length=100, examples=["Ada Lovelace"]
    )
    address: Annotated[str, AfterValidator(_mailbox)] = Field(
        max_length=254, examples=["ada@shop.example"]
    )


class MessageView(BaseModel):
    """One mail about an order; ``reason`` is given where it failed."""

    kind: str = Field(examples=["confirmed"])
    status: str = Field(examples=["sent"])
    message_id: str
    reason: str | None = Field(examples=["unknown_contact"])


class MailingView(BaseModel):
    """All mails about an order."""

    messages: list[MessageView]


def routes(runtime: Runtime[Mailing, EmailSettings]) -> APIRouter:
    """The routes of a running email service."""
    router = APIRouter(tags=["email"], responses=EVERYWHERE)

    @router.put("/contacts/{customer_id}")
    def put_contact(tenant: Tenant, customer_id: CustomerId, body: ContactBody) -> ContactBody:
        """Keep a customer's contact. Mails not yet sent go there too."""
        contact = Contact(tenant, customer_id, body.name, body.address)
        with runtime.db.begin() as conn:
            store.put_contact(conn, contact)
        return body

    @router.get("/contacts/{customer_id}", responses=problem_responses(404))
    def read_contact(tenant: Tenant, customer_id: CustomerId) -> ContactBody:
        """A customer's contact."""
        with runtime.db.begin() as conn:
            contact = store.contact_of(conn, tenant, customer_id)
        if contact is None:
            raise Problem(404, "unknown-contact", f"No contact is known of {customer_id}.")
        return ContactBody(name=contact.name, address=contact.address)

    @router.get("/messages/{order_id}", responses=problem_responses(404))
    def read_messages(tenant: Tenant, order_id: OrderId) -> MailingView:
        """What was mailed about an order."""
        with runtime.db.begin() as conn:
            mailing = store.mailing_of(conn, tenant, str(order_id))
        if mailing is None:
            raise Problem(404, "unknown-mailing", f"No mail was written about order {order_id}.")
        return _view(mailing)

    return router


def _view(mailing: Mailing) -> MailingView:
    return MailingView(
        messages=[
            MessageView(
                kind=message.kind,
                status=message.status,
                message_id=message_id(mailing.key, message.kind),
                reason=message.reason or None,
            )
            for message in mailing.messages
        ]
    )
