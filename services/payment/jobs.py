"""What payment asks of the provider: charge, void and refund, each under a key of the order.

The provider remembers every key, so a call that is made again is made once. After an attempt of
unknown outcome the key is looked up before anything is asked for again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from services.eventkit.jobs import JobContext, JobKind, Refused, RetryLater
from services.payment.domain import payment_key
from services.payment.provider import Answer, Provider
from services.payment.settings import PaymentSettings

REMOTE = "payment_provider"
WAITS_PER_CALL = 8
"""Two requests at most, each waiting for a connection, to connect, to send and to read."""


@dataclass(frozen=True, slots=True)
class Calls:
    """The outside calls of payment's jobs."""

    provider: Provider

    def charge(self, job: JobContext) -> Mapping[str, Any]:
        """Charge the order, or find what became of the charge: its ``status`` and ``reason``."""
        key = payment_key(job.key)
        found = self.provider.find_charge(key) if job.asked_before else None
        asked = {name: job.args[name] for name in ("amount", "currency", "token")}
        try:
            return _settled(found or self.provider.charge(key, **asked, reference=job.key))
        except Refused as error:
            if not job.asked_before:
                raise
            # This call was refused; an earlier one may still be under way.
            settled = _settled(self.provider.void(key))
            return {**settled, "reason": str(error)} if settled["status"] == "voided" else settled

    def void(self, job: JobContext) -> Mapping[str, Any]:
        """Stop the order's charge, made or still under way: its ``status`` then."""
        return _settled(self.provider.void(payment_key(job.key)))

    def refund(self, job: JobContext) -> Mapping[str, Any]:
        """Pay the order's capture back; `Refused` where the provider says that it cannot."""
        key = job.args["key"]
        found = self.provider.find_refund(key) if job.asked_before else None
        try:
            answer = found or self.provider.refund(key, payment_key(job.key), job.args["amount"])
        except Refused as error:
            if not job.asked_before:
                raise
            raise RetryLater(f"refused, and an earlier call may be under way: {error}") from error
        if answer["status"] == "failed":
            raise Refused(answer.get("reason") or "refund_failed")
        if answer["status"] != "refunded":
            raise RetryLater(f"the refund is {answer['status']}")
        return {}


def kinds(settings: PaymentSettings) -> Sequence[JobKind]:
    """The kinds of payment's jobs. A charge and a void are asked for ever: money may have moved.

    A confirmation asks nobody: the provider has told it already.
    """
    calls = Calls(Provider(settings.provider_url, settings.provider_timeout))
    timeout = WAITS_PER_CALL * settings.provider_timeout
    return (
        JobKind("confirmation"),
        JobKind("charge", calls.charge, REMOTE, max_attempts=None, timeout=timeout),
        JobKind("void", calls.void, REMOTE, max_attempts=None, timeout=timeout),
        JobKind("refund", calls.refund, REMOTE, max_attempts=8, timeout=timeout),
    )


def _settled(charge: Answer) -> Mapping[str, Any]:
    status = charge["status"]
    if status not in ("captured", "declined", "voided"):
        raise RetryLater(f"the charge is {status}")
    return {"status": status, "reason": charge.get("reason") or ""}
