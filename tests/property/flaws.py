"""Bugs to plant: each gives up one of the things that keep an order whole.

They are mistakes that real systems have made. The histories have to find every one of them, and
the name of the guarantee that breaks is part of what a flaw says about itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, cast

from services.analytics.domain import OrderFigures
from services.email.domain import Mailing
from services.eventkit.decision import APPLIED, Decision, Event, Facts, Rule, ignored
from services.eventkit.jobs import JobContext, Refused, RetryLater
from services.inventory.domain import Reservation
from services.order.domain import Order
from services.payment.domain import Payment, payment_key
from services.payment.jobs import Calls
from services.payment.provider import Provider as RealProvider
from services.projector.views import OrderView, TimelineEntry, project
from tests.property.model.habits import Habits
from tests.property.model.outside import Provider
from tests.property.model.parts import TABLES, Parts
from tests.property.model.read_model import Projection

CANCEL, CONFIRM = "OrderCancelled", "OrderConfirmed"
LOSS = (
    "nothing_is_lost every_order_ended parts_agree money_adds_up one_mail_each"
    " read_model_agrees analytics_agrees"
)
ORDER = "events_of_an_order_keep_their_order"
TWICE = "each_message_meets_a_rule_once"
REVIVED = "confirmed_is_paid orders_end_once"
MONEY = "money_adds_up parts_agree no_order_needs_attention"
VERSIONS = ("order_sequence", "reservation_sequence", "payment_sequence", "message_sequence")


@dataclass(frozen=True, slots=True)
class Flaw:
    """A planted bug, and the guarantees of which it is found to break one."""

    name: str
    parts: Parts
    breaks: frozenset[str]


# --- rules


def forgets(service: str) -> Rule[Any]:
    """A compensation that does nothing for an order it has not heard of: no tombstone."""
    right = TABLES[service]["OrderCancelled"].rule

    def wrong(state: Any, event: Event, facts: Facts) -> Decision[Any]:
        return Decision(ignored("unknown_order")) if state is None else right(state, event, facts)

    return wrong


def releases_again(state: Reservation | None, event: Event, facts: Facts) -> Decision[Any]:
    """A release that does not ask whether anything is still held."""
    held = replace(state, status="reserved") if state is not None and state.lines else state
    return TABLES["inventory"]["OrderCancelled"].rule(held, event, facts)


def revives(state: Order | None, event: Event, facts: Facts) -> Decision[Any]:
    """A capture confirms the order, whatever has become of it."""
    pending = replace(state, status="pending") if state is not None else None
    return TABLES["order"]["PaymentCaptured"].rule(pending, event, facts)


def keeps_late_money(state: Payment | None, event: Event, facts: Facts) -> Decision[Any]:
    """A void that finds the charge captured takes that for its end."""
    if state is not None and event.data["status"] == "captured":
        return Decision(APPLIED, replace(state, status="voided"))
    return TABLES["payment"]["void.succeeded"].rule(state, event, facts)


def mails_every_time(state: Mailing | None, event: Event, facts: Facts) -> Decision[Any]:
    """A mail for each event about an ending, however often it comes."""
    decision = TABLES["email"][event.type].rule(None, event, facts)
    if state is None or decision.state is None:
        return decision
    return replace(decision, state=replace(decision.state, version=state.version))


def counts_what_comes_last(state: OrderFigures | None, event: Event, facts: Facts) -> Decision[Any]:
    """Figures in which the event read last wins."""
    seen = state or OrderFigures(event.key, event.tenant_id)
    newest = max(seen.order_sequence, seen.payment_sequence, seen.reservation_sequence)
    return TABLES["analytics"][event.type].rule(state, replace(event, sequence=newest + 1), facts)


def shows_what_comes_last(view: OrderView | None, entry: TimelineEntry) -> OrderView:
    """A projection in which the event read last wins; it keeps the versions all the same."""
    right = project(view, entry)
    versions = {name: getattr(right, name) for name in VERSIONS}
    newest = entry._replace(sequence=max(versions.values()) + 1)
    return project(view, newest)._replace(**versions)


# --- calls


class ChargesUnderNewKeys(Calls):
    """Charges again under a new key where the first outcome is unknown."""

    def charge(self, job: JobContext) -> Mapping[str, Any]:
        asked = {name: job.args[name] for name in ("amount", "currency", "token")}
        key = f"{payment_key(job.key)}:{job.attempt}"
        answer = self.provider.charge(key, **asked, reference=job.key)
        if answer["status"] == "processing":
            raise RetryLater("processing")
        return {"status": answer["status"], "reason": answer["reason"] or ""}


class RefundsUnderNewKeys(Calls):
    """Refunds again under a new key where the first outcome is unknown."""

    def refund(self, job: JobContext) -> Mapping[str, Any]:
        key = f"{job.args['key']}:again-{job.attempt}"
        answer = self.provider.refund(key, payment_key(job.key), job.args["amount"])
        if answer["status"] == "failed":
            raise Refused("refund_failed")
        return {}


class TakesSilenceForNo(Calls):
    """Takes an unknown outcome of a charge for a decline."""

    def charge(self, job: JobContext) -> Mapping[str, Any]:
        try:
            return Calls.charge(self, job)
        except RetryLater as error:
            raise Refused("no_answer") from error


def _habit(name: str, breaks: str, **given_up: bool) -> Flaw:
    return Flaw(name, Parts(habits=Habits(**given_up)), frozenset(breaks.split()))


def _rule(name: str, breaks: str, service: str, rule: Rule[Any], *events: str) -> Flaw:
    lines = dict(TABLES[service])
    for event in events or lines:
        lines[event] = replace(lines[event], rule=rule)
    tables = MappingProxyType({**TABLES, service: MappingProxyType(lines)})
    return Flaw(name, Parts(tables=tables), frozenset(breaks.split()))


def _projection(name: str, breaks: str, project: Projection) -> Flaw:
    return Flaw(name, Parts(project=project), frozenset(breaks.split()))


def _calls(name: str, breaks: str, calls: type[Calls]) -> Flaw:
    def build(provider: Provider) -> Calls:
        return calls(cast(RealProvider, provider))

    return Flaw(name, Parts(calls=build), frozenset(breaks.split()))


FLAWS = (
    _habit("ack_before_commit", LOSS, acknowledges_after_commit=False),
    _habit("no_inbox", TWICE, keeps_inbox=False),
    _habit(
        "nothing_parked", "events_of_an_order_keep_their_order", parks_behind_dead_letters=False
    ),
    _habit("events_apart_from_states", "versions_are_contiguous", stores_events_with_states=False),
    _habit("jobs_apart_from_states", LOSS, stores_jobs_with_states=False),
    _habit("results_not_fenced", TWICE, fences_results=False),
    _rule("no_tombstone_in_payment", "parts_agree", "payment", forgets("payment"), CANCEL),
    _rule("no_tombstone_in_stock", "parts_agree", "inventory", forgets("inventory"), CANCEL),
    _rule("stock_released_again", "stock_adds_up", "inventory", releases_again, CANCEL),
    _rule("late_capture_revives", REVIVED, "order", revives, "PaymentCaptured"),
    _rule("late_capture_kept", MONEY, "payment", keeps_late_money, "void.succeeded"),
    _rule("mail_for_each_repeat", "one_mail_each", "email", mails_every_time, CONFIRM, CANCEL),
    _rule("no_version_guard_in_figures", "analytics_agrees", "analytics", counts_what_comes_last),
    _projection("no_version_guard_in_views", "read_model_agrees", shows_what_comes_last),
    _calls("charge_under_new_keys", f"{MONEY} money_moves_once", ChargesUnderNewKeys),
    _calls("refund_under_new_keys", "no_order_needs_attention", RefundsUnderNewKeys),
    _calls("silence_is_a_decline", MONEY, TakesSilenceForNo),
)
