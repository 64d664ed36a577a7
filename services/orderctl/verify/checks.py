"""The table of checks: the invariants of the system on one screen."""

from collections.abc import Callable
from dataclasses import dataclass

from services.orderctl.verify.data import Snapshot
from services.orderctl.verify.endings import orders_ended, payments_ended, reservations_ended
from services.orderctl.verify.finding import Finding
from services.orderctl.verify.letters import nothing_dead
from services.orderctl.verify.mails import mails_arrived_once, one_mail_each
from services.orderctl.verify.money import money_kept, provider_agrees
from services.orderctl.verify.readers import analytics_agrees, read_model_agrees
from services.orderctl.verify.stock import stock_adds_up
from services.orderctl.verify.topics import events_have_rows, keys_in_place, outbox_published


@dataclass(frozen=True, slots=True)
class Check:
    """A name for programs, what must hold for people, and the function that looks."""

    name: str
    rule: str
    look: Callable[[Snapshot], Finding]


CHECKS = (
    Check("orders_ended", "every order has ended, or names the step it waits for", orders_ended),
    Check("reservations_ended", "every reservation fits its order's ending", reservations_ended),
    Check("payments_ended", "every payment fits its order's ending", payments_ended),
    Check("money_kept", "captured - refunded = total of confirmed orders", money_kept),
    Check("provider_agrees", "the provider's ledger has the same money, once", provider_agrees),
    Check("stock_adds_up", "imported = available + held by open and confirmed", stock_adds_up),
    Check("outbox_published", "every outbox row is on its topic", outbox_published),
    Check("events_have_rows", "every event on a topic has its outbox row", events_have_rows),
    Check("keys_in_place", "every record has its key and lies in its partition", keys_in_place),
    Check("one_mail_each", "every ended order has its one mail", one_mail_each),
    Check("mails_arrived_once", "what was sent has arrived, once", mails_arrived_once),
    Check("read_model_agrees", "read model = order database", read_model_agrees),
    Check("analytics_agrees", "analytics = order database", analytics_agrees),
    Check("nothing_dead", "no dead letter, nothing parked", nothing_dead),
)
