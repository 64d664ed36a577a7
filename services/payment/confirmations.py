"""The provider's own word on a charge: verified, stored once, answered at once, handled later.

Signed by Standard Webhooks. A timestamp that is more than five minutes off is refused, so a copy is
of use for five minutes at most, and within these its id is known.
"""

import binascii
from collections.abc import Mapping
from typing import Annotated, Literal
from uuid import NAMESPACE_URL, UUID, uuid5

from pydantic import BaseModel, Field, ValidationError
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.engine import Connection
from standardwebhooks import Webhook, WebhookVerificationError

from services.eventkit.http import FieldError, Problem
from services.payment.tables import provider_events


class Charge(BaseModel):
    """What became of a charge; money in minor units of the currency."""

    reference: UUID = Field(description="The order's id")
    status: Literal["captured", "declined"]
    amount: Annotated[int, Field(ge=1, strict=True)]
    currency: str = Field(pattern=r"^[A-Z]{3}$")
    reason: str | None = Field(default=None, max_length=200)


class Notice(BaseModel):
    """What the provider sends. Fields that are not known here are let pass."""

    type: str = Field(max_length=100, examples=["charge.captured"])
    data: Charge


def verified(secret: str, body: bytes, headers: Mapping[str, str]) -> tuple[str, Notice]:
    """The id and the content of a notice that the provider has signed, in this moment.

    Raises `Problem` 401 for a signature or timestamp that is missing or wrong, 422 for a content
    that is none of ours.
    """
    try:
        if not secret:
            raise WebhookVerificationError("no secret is set")
        Webhook(f"whsec_{secret}").verify(body, dict(headers), json_parse=False)
    except (WebhookVerificationError, ValueError, binascii.Error) as error:
        detail = "The signature or the timestamp is missing or not valid."
        raise Problem(401, "invalid-signature", detail) from error
    try:
        return headers["webhook-id"], Notice.model_validate_json(body)
    except ValidationError as error:
        errors = [
            FieldError(field=".".join(map(str, part["loc"])), message=part["msg"])
            for part in error.errors()
        ]
        raise Problem(422, "invalid-request", "The notice is not valid.", errors) from error


def take_in(conn: Connection, webhook_id: str, notice: Notice) -> bool:
    """Stores a notice; False where it is there already."""
    row = {
        "webhook_id": webhook_id,
        "key": str(notice.data.reference),
        "event_type": notice.type,
        "body": notice.model_dump(mode="json"),
    }
    statement = insert(provider_events).values(row).on_conflict_do_nothing()
    return conn.execute(statement.returning(provider_events.c.webhook_id)).first() is not None


OLD = """
DELETE FROM provider_events WHERE webhook_id IN (
    SELECT webhook_id FROM provider_events WHERE received_at < :before
    ORDER BY received_at LIMIT :batch)"""
"""Deletes notices: a copy of one is refused for its age long before."""


def message_id(webhook_id: str) -> UUID:
    """The id under which the rules see a notice: the same for a repeat."""
    return uuid5(NAMESPACE_URL, f"provider-webhook:{webhook_id}")
