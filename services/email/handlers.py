"""What email does with each event and each job's result; the table at the bottom is all of it."""

from services.email.domain import CANCELLED, CONFIRMED, Ending, Mailing, failed, sent, write
from services.eventkit.decision import Decision, Event, Facts, On, Rule, handlers


def on_order_confirmed(state: Mailing | None, event: Event, facts: Facts) -> Decision[Mailing]:
    """Tell the customer that the order is confirmed."""
    return write(state, event.key, event.tenant_id, _ending(CONFIRMED, event))


def on_order_cancelled(state: Mailing | None, event: Event, facts: Facts) -> Decision[Mailing]:
    """Tell the customer that the order is cancelled, and why."""
    return write(state, event.key, event.tenant_id, _ending(CANCELLED, event))


def on_sent(kind: str) -> Rule[Mailing]:
    """The rule for a mail of this kind that the mail server took."""

    def on_mail_sent(state: Mailing | None, event: Event, facts: Facts) -> Decision[Mailing]:
        """Record that the mail is on its way."""
        return sent(state, kind)

    return on_mail_sent


def on_failed(kind: str) -> Rule[Mailing]:
    """The rule for a mail of this kind that will not be sent."""

    def on_mail_failed(state: Mailing | None, event: Event, facts: Facts) -> Decision[Mailing]:
        """Record that the customer was not told, and why."""
        return failed(state, kind, event.data["reason"])

    return on_mail_failed


def _ending(kind: str, event: Event) -> Ending:
    data = event.data
    return Ending(
        kind, data["customer_id"], data["total"], data["currency"], data.get("reason", "")
    )


HANDLERS = handlers(
    On("OrderConfirmed", "order.events", on_order_confirmed, jobs=("mail_confirmed",)),
    On("mail_confirmed.succeeded", "job", on_sent(CONFIRMED), emits=("EmailSent",)),
    On("mail_confirmed.failed", "job", on_failed(CONFIRMED), emits=("EmailFailed",)),
    On("OrderCancelled", "order.events", on_order_cancelled, jobs=("mail_cancelled",)),
    On("mail_cancelled.succeeded", "job", on_sent(CANCELLED), emits=("EmailSent",)),
    On("mail_cancelled.failed", "job", on_failed(CANCELLED), emits=("EmailFailed",)),
)
