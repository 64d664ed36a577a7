"""The API of webhooks: register, list, rotate, disable, test, look at deliveries, send again."""

import base64
import secrets
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import uuid4

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from services.eventkit.access import Tenant
from services.eventkit.http import EVERYWHERE, FieldError, Problem, problem_responses
from services.eventkit.service import Runtime, api_event
from services.order import targets, webhook_store, webhooks
from services.order.domain import Order
from services.order.settings import OrderSettings
from services.order.webhooks import EVENTS, OLD_SECRETS, PENDING, TEST, Delivery, EventName, Webhook

MOST = 20
"""Enabled webhooks of one tenant."""

WebhookId = Annotated[
    str, Path(pattern=r"^wh_[0-9a-f]{24}$", examples=["wh_0123456789abcdef01234567"])
]
DeliveryId = Annotated[
    str, Path(pattern=r"^msg_[0-9a-f]{1,60}$", examples=["msg_0123456789abcdef"])
]


class WebhookIn(BaseModel):
    """Where to tell of what."""

    model_config = ConfigDict(extra="forbid", strict=True)

    url: str = Field(max_length=2000, examples=["https://shop.example/hooks"])
    events: list[EventName] = Field(default_factory=lambda: list(EVENTS), min_length=1)


class Rotation(BaseModel):
    """For how many seconds the old secrets are valid beside the new one, at most."""

    model_config = ConfigDict(extra="forbid")

    grace: int = Field(default=86_400, ge=0, le=604_800)


class WebhookOut(BaseModel):
    """A webhook; its secret is shown only when it is made."""

    webhook_id: str
    url: str
    events: list[str]
    status: str = Field(examples=["enabled", "disabled"])
    reason: str | None


class WebhookWithSecret(WebhookOut):
    """A webhook and the secret its messages are signed with."""

    secret: str = Field(examples=["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"])


class DeliveryOut(BaseModel):
    """A message and what became of it so far."""

    delivery_id: str
    event_type: str
    key: str = Field(description="The order it is about")
    status: str = Field(examples=["pending", "delivered", "dead", "cancelled"])
    attempts: int
    answer: int | None = Field(description="Status of the last answer")
    error: str | None
    next_at: datetime | None
    created_at: datetime
    updated_at: datetime


class DeliveryPage(BaseModel):
    """Deliveries, newest first."""

    deliveries: list[DeliveryOut]


def webhook_routes(runtime: Runtime[Order, OrderSettings]) -> APIRouter:
    """The routes of webhooks."""
    router = APIRouter(prefix="/webhooks", tags=["webhooks"], responses=EVERYWHERE)
    private_allowed = runtime.settings.webhook_private_targets

    def found(conn: Any, tenant: str, webhook_id: str, *, lock: bool = False) -> Webhook:
        webhook = webhook_store.webhook(conn, webhook_id, tenant, lock=lock)
        if webhook is None:
            raise Problem(404, "not-found", "There is no such webhook.")
        return webhook

    def send(conn: Any, delivery: Delivery) -> Any:
        data = {"delivery": delivery}
        tenant = delivery.tenant_id
        command = api_event("SendWebhook", delivery.key, data, tenant, tenant, uuid4())
        return runtime.command(conn, command)

    @router.post("", status_code=201, responses=problem_responses(409))
    def register(tenant: Tenant, body: WebhookIn) -> WebhookWithSecret:
        """Registers an address. The answer has the secret, which is not shown again."""
        try:
            targets.check_url(body.url, private_allowed)
        except targets.Forbidden as error:
            wrong = [FieldError(field="url", message=str(error))]
            raise Problem(422, "invalid-request", f"The URL {error}.", wrong) from error
        name = f"wh_{secrets.token_hex(12)}"
        new = Webhook(name, tenant, body.url, tuple(dict.fromkeys(body.events)), _secret())
        with runtime.db.begin() as conn:
            if webhook_store.enabled(conn, tenant) >= MOST:
                raise Problem(409, "too-many-webhooks", f"{MOST} webhooks are enabled already.")
            webhook_store.add(conn, new)
        return _with_secret(new)

    @router.get("")
    def list_webhooks(tenant: Tenant) -> list[WebhookOut]:
        """All webhooks, oldest first."""
        with runtime.db.connect() as conn:
            return [WebhookOut(**_fields(one)) for one in webhook_store.webhooks(conn, tenant)]

    @router.post("/{webhook_id}/rotate", responses=problem_responses(404, 409))
    def rotate(tenant: Tenant, webhook_id: WebhookId, body: Rotation) -> WebhookWithSecret:
        """Makes a new secret. Messages are signed with the ones before it too until these end."""
        now, grace = datetime.now(UTC), timedelta(seconds=body.grace)
        with runtime.db.begin() as conn:
            old = found(conn, tenant, webhook_id, lock=True)
            new = webhooks.rotated(old, _secret(), now, grace)
            if len(new.old_secrets) > OLD_SECRETS:
                detail = f"{OLD_SECRETS} old secrets are valid still; a grace of 0 ends them."
                raise Problem(409, "too-many-secrets", detail)
            webhook_store.set_secrets(conn, new)
        return _with_secret(new)

    @router.post("/{webhook_id}/disable", responses=problem_responses(404))
    def disable(tenant: Tenant, webhook_id: WebhookId) -> WebhookOut:
        """Nothing more is sent; what is still to be sent is cancelled when its turn comes."""
        with runtime.db.begin() as conn:
            found(conn, tenant, webhook_id)
            webhook_store.disable(conn, webhook_id, "by request")
            return WebhookOut(**_fields(found(conn, tenant, webhook_id)))

    @router.post("/{webhook_id}/test", status_code=202, responses=problem_responses(404, 409))
    def test(tenant: Tenant, webhook_id: WebhookId) -> DeliveryOut:
        """Sends a message of type `webhook.test`."""
        now = datetime.now(UTC)
        with runtime.db.begin() as conn:
            _enabled(found(conn, tenant, webhook_id))
            payload = webhooks.message(TEST, {"webhook_id": webhook_id}, now)
            name = f"msg_{uuid4().hex}"
            new = Delivery(name, webhook_id, tenant, webhook_id, TEST, payload, now, now)
            decision = send(conn, new)
        runtime.committed(decision)
        return _delivery(new)

    @router.get("/{webhook_id}/deliveries", responses=problem_responses(404))
    def list_deliveries(
        tenant: Tenant,
        webhook_id: WebhookId,
        status: Literal["pending", "delivered", "dead", "cancelled"] | None = None,
        limit: Annotated[int, Query(ge=1, le=500)] = 100,
    ) -> DeliveryPage:
        """The newest deliveries, newest first; `status=dead` are those given up."""
        with runtime.db.connect() as conn:
            found(conn, tenant, webhook_id)
            page = webhook_store.deliveries(conn, webhook_id, status, limit)
        return DeliveryPage(deliveries=[_delivery(one) for one in page])

    @router.post(
        "/{webhook_id}/deliveries/{delivery_id}/resend",
        status_code=202,
        responses=problem_responses(404, 409),
    )
    def resend(tenant: Tenant, webhook_id: WebhookId, delivery_id: DeliveryId) -> DeliveryOut:
        """Sends a message again, under its own id, with all its attempts anew."""
        with runtime.db.begin() as conn:
            _enabled(found(conn, tenant, webhook_id))
            old = webhook_store.delivery(conn, delivery_id, webhook_id)
            if old is None:
                raise Problem(404, "not-found", "There is no such delivery.")
            if old.status == PENDING:
                raise Problem(409, "delivery-pending", "It is being sent already.")
            again = webhooks.again(old, datetime.now(UTC))
            decision = send(conn, again)
        runtime.committed(decision)
        return _delivery(again)

    return router


def _enabled(webhook: Webhook) -> None:
    if webhook.status != webhooks.ENABLED:
        raise Problem(409, "webhook-disabled", f"The webhook is disabled: {webhook.reason}.")


def _secret() -> str:
    return f"whsec_{base64.b64encode(secrets.token_bytes(24)).decode()}"


def _fields(webhook: Webhook) -> dict[str, Any]:
    return {name: getattr(webhook, name) for name in WebhookOut.model_fields} | {
        "events": list(webhook.events)
    }


def _with_secret(webhook: Webhook) -> WebhookWithSecret:
    return WebhookWithSecret(**_fields(webhook), secret=webhook.secret)


def _delivery(delivery: Delivery) -> DeliveryOut:
    return DeliveryOut(**{name: getattr(delivery, name) for name in DeliveryOut.model_fields})
