"""The outside call of a webhook: one attempt, and what its answer means."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

import httpcore
import httpx
import sqlalchemy as sa
from opentelemetry.trace import SpanKind
from standardwebhooks import Webhook as Signer

from services.eventkit import logs, tracing
from services.eventkit.db import as_text
from services.eventkit.jobs import JobContext, needing
from services.order import targets, webhook_store
from services.order.calling import Answer, Caller
from services.order.webhooks import ENABLED, PENDING, Delivery, Webhook

LOG = logs.logger("webhooks")
DAY: Final = 86_400.0
_BUSY = frozenset({429, 503})
_RECEIVERS_FAULT = (
    httpcore.TimeoutException,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpx.InvalidURL,
    OSError,
    UnicodeError,
)


class Sender:
    """Makes attempts. ``timeout`` is the longest wait for connecting and for an answer, each."""

    def __init__(self, db: sa.Engine, private_allowed: bool, timeout: float) -> None:
        self._db = db
        self._caller = Caller(private_allowed, timeout)

    def send(self, job: JobContext) -> Mapping[str, Any]:
        """One attempt: its ``outcome``, and the ``answer`` or the ``error``.

        It never raises for what a receiver does: one that fails must not make others wait.
        """
        with needing("delivery"), self._db.connect() as conn:
            delivery = webhook_store.delivery(conn, job.args["delivery_id"])
            webhook = webhook_store.webhook(conn, delivery.webhook_id) if delivery else None
        if delivery is None or webhook is None or delivery.status != PENDING:
            return {"outcome": "cancelled"}
        if webhook.status != ENABLED:
            return {"outcome": "cancelled"}
        try:
            return self._traced(webhook, delivery)
        except _RECEIVERS_FAULT as error:
            return _failed(f"{type(error).__name__}: {error}")
        except targets.Forbidden as error:
            return _failed(f"target not allowed: {error}")
        except Exception as error:
            LOG.exception("an attempt raised", delivery=delivery.delivery_id)
            return _failed(f"{type(error).__name__}: {error}")

    def _traced(self, webhook: Webhook, delivery: Delivery) -> Mapping[str, Any]:
        """The call as a span. Its context stays here: a receiver is no part of our traces."""
        attributes = {"saga.webhook.delivery_id": delivery.delivery_id}
        with tracing.span("webhook POST", SpanKind.CLIENT, attributes=attributes) as span:
            answer = self._post(webhook, delivery)
            span.set_attribute("http.response.status_code", answer.status)
            return _told(answer)

    def _post(self, webhook: Webhook, delivery: Delivery) -> Answer:
        body = json.dumps(delivery.payload, separators=(",", ":"))
        now = datetime.now(UTC)
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "order-saga-webhooks/1",
            "webhook-id": delivery.delivery_id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": signature(webhook, delivery.delivery_id, now, body),
        }
        return self._caller.post(webhook.url, body, headers)


def signature(webhook: Webhook, delivery_id: str, now: datetime, body: str) -> str:
    """One signature for each secret that is valid: receivers take any of them."""
    secrets = [webhook.secret, *(old.secret for old in webhook.old_secrets if now < old.until)]
    return " ".join(Signer(secret).sign(delivery_id, now, body) for secret in secrets)


def _told(answer: Answer) -> Mapping[str, Any]:
    status = answer.status
    if httpx.codes.is_success(status):
        return {"outcome": "delivered", "answer": status}
    if status == httpx.codes.GONE:
        return {"outcome": "gone", "answer": status, "error": "410"}
    failed = {"answer": status, **_failed(str(status))}
    if status in _BUSY:
        failed["retry_after"] = _seconds(answer.retry_after)
    return failed


def _failed(error: str) -> dict[str, Any]:
    return {"outcome": "failed", "error": as_text(error)[:300]}


def _seconds(retry_after: str | None) -> float | None:
    """What a receiver asks for, in seconds up to a day; None where it asks for nothing readable."""
    if retry_after is None:
        return None
    if retry_after.strip().isdecimal():
        return min(DAY, float(retry_after))
    try:
        at = parsedate_to_datetime(retry_after)
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        return min(DAY, max(0.0, (at - datetime.now(UTC)).total_seconds()))
    except (ValueError, OverflowError):  # a year, or a distance from UTC, that no calendar has
        return None
