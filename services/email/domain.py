"""Mail a customer once about each ending of an order: the rules of email.

A mail that fails never touches the order. Where a customer can be reached is looked up when the
mail is sent; no rule, event or job knows an address.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from services.eventkit.decision import APPLIED, Decision, Emit, NewJob, ignored

CONFIRMED = "confirmed"
CANCELLED = "cancelled"
KINDS = (CONFIRMED, CANCELLED)
"""The kinds of message; an order has at most one of each, for ever."""

QUEUED = "queued"
SENT = "sent"
FAILED = "failed"

TRANSITIONS: Mapping[tuple[str | None, str], str] = {
    (None, "ending"): QUEUED,
    (QUEUED, "mail.succeeded"): SENT,
    (QUEUED, "mail.failed"): FAILED,
    (FAILED, "mail.succeeded"): SENT,
}
"""(status, input) -> status; None is a message never written. All else is ignored."""

IGNORED: Mapping[str | None, str] = {
    None: "no_message",
    QUEUED: "already_queued",
    SENT: "already_sent",
    FAILED: "already_failed",
}
"""Why a message in this status lets an input pass that has no transition."""


@dataclass(frozen=True, slots=True)
class Message:
    """One mail about an order; ``reason`` says why it failed."""

    kind: str
    status: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Mailing:
    """The messages of one order, in order of kind."""

    key: str
    tenant_id: str
    messages: tuple[Message, ...] = ()
    version: int = 0

    def message(self, kind: str) -> Message | None:
        """The order's message of this kind, or None where none was written."""
        return next((message for message in self.messages if message.kind == kind), None)


@dataclass(frozen=True, slots=True)
class Ending:
    """What a mail says: whose order ended, how, and its total in minor units."""

    kind: str
    customer_id: str
    total: int
    currency: str
    reason: str = ""


def job_of(kind: str) -> str:
    """The job that sends an order's message of this kind."""
    return f"mail_{kind}"


def message_id(key: str, kind: str) -> str:
    """The Message-ID of a mail: the same each time it is sent, so that a copy can be told."""
    return f"<{key}.{kind}@order-saga.example>"


def write(state: Mailing | None, key: str, tenant_id: str, ending: Ending) -> Decision[Mailing]:
    """Queue the message about an order's ending, unless it was ever written before."""
    mailing = state or Mailing(key, tenant_id)
    status = _next(mailing, ending.kind, "ending")
    if status is None:
        return _ignored(mailing, ending.kind)
    said = {
        "customer_id": ending.customer_id,
        "total": ending.total,
        "currency": ending.currency,
        "reason": ending.reason,
    }
    changed = _with(mailing, Message(ending.kind, status))
    return Decision(APPLIED, changed, jobs=(NewJob(job_of(ending.kind), said),))


def sent(state: Mailing | None, kind: str) -> Decision[Mailing]:
    """Record that the mail server took the mail."""
    return _result(state, kind, "mail.succeeded", Emit("EmailSent", {"kind": kind}))


def failed(state: Mailing | None, kind: str, reason: str) -> Decision[Mailing]:
    """Record that the mail will not be sent, and why."""
    emit = Emit("EmailFailed", {"kind": kind, "reason": reason})
    return _result(state, kind, "mail.failed", emit, reason)


def _result(
    state: Mailing | None, kind: str, step: str, emit: Emit, reason: str = ""
) -> Decision[Mailing]:
    status = _next(state, kind, step)
    if state is None or status is None:
        return _ignored(state, kind)
    return Decision(APPLIED, _with(state, Message(kind, status, reason)), (emit,))


def _with(mailing: Mailing, message: Message) -> Mailing:
    others = (other for other in mailing.messages if other.kind != message.kind)
    messages = sorted((*others, message), key=lambda each: each.kind)
    return replace(mailing, messages=tuple(messages))


def _next(mailing: Mailing | None, kind: str, step: str) -> str | None:
    return TRANSITIONS.get((_status(mailing, kind), step))


def _ignored(mailing: Mailing | None, kind: str) -> Decision[Any]:
    return Decision(ignored(IGNORED[_status(mailing, kind)]))


def _status(mailing: Mailing | None, kind: str) -> str | None:
    message = mailing.message(kind) if mailing else None
    return message.status if message else None
