"""What must hold after a campaign: orderctl verify's checks and the client's own knowledge."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from services.orderctl.verify.data import Snapshot
from services.orderctl.verify.finding import Finding, finding
from services.orderctl.verify.quiet import Motion
from services.orderctl.verify.run import Result, run_checks
from tests.chaos.client import Client

Promise = Literal["lost", "doubled", "stuck", "dead letters"]

BROKEN_BY: Final[dict[str, Promise]] = {
    "accepted_kept": "lost",
    "outbox_published": "lost",
    "events_have_rows": "lost",
    "keys_in_place": "lost",
    "one_mail_each": "lost",
    "mails_arrived": "lost",
    "read_model_agrees": "lost",
    "analytics_agrees": "lost",
    "placed_once": "doubled",
    "money_kept": "doubled",
    "provider_agrees": "doubled",
    "stock_adds_up": "doubled",
    "mailed_once": "doubled",
    "answered": "stuck",
    "quiet": "stuck",
    "orders_ended": "stuck",
    "reservations_ended": "stuck",
    "payments_ended": "stuck",
    "nothing_dead": "dead letters",
}
"""Each check -> what a problem that it finds counts as."""

COUNTS_COPIES = "mails_arrived_once"
"""verify's check that takes a repeated mail for a problem; here the ones below stand for it."""


@dataclass(frozen=True, slots=True)
class Known:
    """What the client knows: the orders it was promised, and the requests without an answer."""

    accepted: frozenset[str]
    unanswered: tuple[str, ...]

    @classmethod
    def by(cls, client: Client) -> "Known":
        """What this client knows at the end."""
        return cls(frozenset(o.order_id for o in client.accepted), tuple(client.refused))


def check_all(snapshot: Snapshot, moving: Motion | None, known: Known) -> list[Result]:
    """Every check's result, in the order of `BROKEN_BY`."""
    results = {r.name: r for r in run_checks(snapshot, moving) if r.name != COUNTS_COPIES}
    for own in _own_checks(snapshot, known):
        results[own.name] = own
    return [results[name] for name in BROKEN_BY]


def broken(results: Sequence[Result]) -> dict[Promise, int]:
    """How many problems of each kind there are."""
    counts: Counter[Promise] = Counter()
    for result in results:
        counts[BROKEN_BY[result.name]] += len(result.finding.problems)
    return {promise: counts[promise] for promise in dict.fromkeys(BROKEN_BY.values())}


def mail_copies(snapshot: Snapshot) -> int:
    """How often a mail arrived again with the same message id.

    That is the stated window: SMTP has no way to take a mail once for all, so a sender that dies
    between its acceptance and noting so sends it again, under the same id.
    """
    copies = Counter(mail.message_id for mail in snapshot.mails)
    return sum(count - 1 for count in copies.values())


def _own_checks(snapshot: Snapshot, known: Known) -> Iterator[Result]:
    def result(name: str, rule: str, found: Finding) -> Result:
        return Result(name, rule, found)

    there = snapshot.orders.keys()
    yield result(
        "accepted_kept",
        "every order that was answered 202 is there",
        finding(len(known.accepted), (f"{key} is gone" for key in known.accepted - there)),
    )
    yield result(
        "placed_once",
        "no order is there that the client was not told of",
        finding(len(there), (f"{key} was not asked for" for key in there - known.accepted)),
    )
    yield result(
        "answered",
        "every request was answered in the end",
        finding(len(known.accepted), known.unanswered),
    )
    yield result("mails_arrived", "what was sent has arrived", _mails_arrived(snapshot))
    yield result("mailed_once", "an order's mails have one message id each", _mailed_once(snapshot))


def _mails_arrived(snapshot: Snapshot) -> Finding:
    sent = [message for message in snapshot.messages if message.status == "sent"]
    arrived = Counter(mail.order_id for mail in snapshot.mails)
    missing = (f"{m.order_id}: no {m.kind} mail arrived" for m in sent if not arrived[m.order_id])
    return finding(len(sent), missing)


def _mailed_once(snapshot: Snapshot) -> Finding:
    sent = Counter(m.order_id for m in snapshot.messages if m.status == "sent")
    ids: dict[str, set[str]] = defaultdict(set)
    for mail in snapshot.mails:
        ids[mail.order_id].add(mail.message_id)
    doubled = (
        f"{key}: {sent[key]} mails sent, {len(found)} different ones arrived"
        for key, found in ids.items()
        if len(found) > sent[key]
    )
    return finding(len(ids), doubled)
