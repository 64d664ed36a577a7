"""Order, inventory and payment together, in memory: every interleaving ends in one truth.

Topics keep the order of one key, as partitions do; everything else may happen at any moment:
topics overtake each other, events are repeated under new ids, the customer cancels, the deadline
fires, the provider answers late.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

from hypothesis import given, settings
from hypothesis import strategies as st

from services.eventkit.decision import Emit, Event, NewJob
from services.inventory.domain import Stock, stock_key
from services.inventory.handlers import HANDLERS as INVENTORY
from services.order.handlers import HANDLERS as ORDER
from services.payment.handlers import HANDLERS as PAYMENT
from tests.unit.ruleset import START, Ruleset, event

Draw = Callable[[st.SearchStrategy[Any]], Any]
KEYS = ("order-1", "order-2")
TOTAL = 4200


class Provider:
    """One charge and one refund a key, as the provider's ledger has them."""

    def __init__(self, accepts: bool, refunds: bool) -> None:
        self.accepts = accepts
        self.refunds = refunds
        self.charges: dict[str, str] = {}
        self.refunded: set[str] = set()

    def do(self, key: str, job: NewJob) -> Event:
        """Make a job's call and give its result."""
        if job.kind == "refund":
            if not self.refunds:
                data = {"reason": "refund_refused", "asked": job.args}
                return event("refund.failed", data, key)
            self.refunded.add(key)
            return event("refund.succeeded", {}, key)
        found = "voided" if job.kind == "void" else "captured" if self.accepts else "declined"
        status = self.charges.setdefault(key, found)
        return event(f"{job.kind}.succeeded", {"status": status, "reason": ""}, key)


class Saga:
    """Three services and the topics between them.

    ``cancels`` are the orders that a customer may cancel, ``late`` those whose deadline may come.
    """

    def __init__(self, pieces: int, provider: Provider, cancels: set[str], late: set[str]) -> None:
        stock = {stock_key("demo", "A"): Stock("demo", "A", pieces, pieces, 0)}
        self.provider = provider
        self.services = {
            "order": Ruleset(ORDER),
            "inventory": Ruleset(INVENTORY, dict(stock)),
            "payment": Ruleset(PAYMENT),
        }
        self.queues: dict[tuple[str, str, str], list[Event]] = {}
        self.results: list[Event] = []
        self.read: list[tuple[str, Event]] = []
        self.repeats = 3
        self.cancels = cancels
        self.late = late

    def tell(self, service: str, told: Event) -> None:
        """Have a service decide, and put what it says on its topic."""
        decision = self.services[service].give(told)
        for emit in decision.emits:
            self._publish(f"{service}.events", told.key, emit)

    def moves(self) -> list[tuple[str, Any]]:
        """All that may happen next; nothing but a customer's whim once the saga is quiet."""
        found: list[tuple[str, Any]] = [("read", place) for place, q in self.queues.items() if q]
        found += [("job", name) for name in self.services if self._due(name)]
        found += [("result", None)] * bool(self.results)
        if found:
            found += [("cancel", key) for key in sorted(self.cancels)]
            found += [("repeat", None)] * bool(self.repeats and self.read)
        return found

    def move(self, what: str, where: Any, draw: Draw) -> None:
        """Make one move."""
        if what == "read":
            told = self.queues[where].pop(0)
            self.read.append((where[0], told))
            self.tell(where[0], told)
        elif what == "job":
            self._do(where, draw)
        elif what == "result":
            self.tell("payment", self.results.pop(_pick(self.results, draw)))
        elif what == "cancel":
            self.cancels.discard(where)
            self.tell("order", event("CancelOrder", {}, where))
        else:
            self.repeats -= 1
            service, told = self.read[_pick(self.read, draw)]
            self.tell(service, replace(told, id=uuid4()))

    def _do(self, service: str, draw: Draw) -> None:
        due = self._due(service)
        key, job = due[_pick(due, draw)]
        self.services[service].jobs.remove((key, job))
        if service == "order":
            self.tell("order", event("payment_deadline.succeeded", {}, key))
        else:
            self.results.append(self.provider.do(key, job))

    def _due(self, service: str) -> list[tuple[str, NewJob]]:
        jobs = self.services[service].jobs
        return [job for job in jobs if service != "order" or job[0] in self.late]

    def _publish(self, topic: str, key: str, emit: Emit) -> None:
        for name, rules in self.services.items():
            line = rules.handlers.get(emit.type)
            if line is not None and line.source == topic:
                queue = self.queues.setdefault((name, topic, key), [])
                queue.append(event(emit.type, emit.data, key))


def _pick(things: list[Any], draw: Draw) -> int:
    index: int = draw(st.integers(0, len(things) - 1))
    return index


def placing(key: str) -> Event:
    data = {
        "customer_id": "c-1",
        "currency": "EUR",
        "payment_token": "tok_ok",
        "pay_by": START + timedelta(minutes=15),
        "lines": [{"sku": "A", "quantity": 1, "unit_price": TOTAL}],
        "trace_id": None,
    }
    return event("PlaceOrder", data, key)


@settings(max_examples=80, deadline=None)
@given(
    data=st.data(),
    pieces=st.integers(0, 2),
    accepts=st.booleans(),
    refunds=st.booleans(),
    cancels=st.sets(st.sampled_from(KEYS)),
    late=st.sets(st.sampled_from(KEYS)),
)
def test_every_interleaving_ends_with_all_services_agreeing(
    data: st.DataObject,
    pieces: int,
    accepts: bool,
    refunds: bool,
    cancels: set[str],
    late: set[str],
) -> None:
    saga = Saga(pieces, Provider(accepts, refunds), cancels, late)
    for key in KEYS:
        saga.tell("order", placing(key))
    while moves := saga.moves():
        what, where = data.draw(st.sampled_from(moves))
        saga.move(what, where, data.draw)
    for key in KEYS:
        _check(saga, key)
    confirmed = [o for o in saga.services["order"].states.values() if o.status == "confirmed"]
    stock = saga.services["inventory"].related[stock_key("demo", "A")]
    assert (stock.imported, stock.held) == (pieces, len(confirmed))
    assert stock.available + stock.held == pieces


def _check(saga: Saga, key: str) -> None:
    order, reservation, payment = (rules.states[key] for rules in saga.services.values())
    taken = saga.provider.charges.get(key) == "captured"
    kept = taken and key not in saga.provider.refunded
    if order.status == "confirmed":
        assert (reservation.status, payment.status, kept) == ("reserved", "captured", True)
    elif order.status == "needs_attention":
        assert (reservation.status, payment.status, kept) == ("released", "refund_failed", True)
    else:
        assert order.status == "cancelled"
        assert reservation.status in ("rejected", "released", "cancelled")
        assert payment.status in ("declined", "voided", "cancelled", "refunded")
        assert not kept
    types = [emit.type for rules in saga.services.values() for k, emit in rules.emitted if k == key]
    for once in ("OrderPlaced", "OrderConfirmed", "StockReserved", "StockReleased"):
        assert types.count(once) <= 1
    for once in ("PaymentCaptured", "PaymentDeclined", "PaymentRefunded", "OrderCancelled"):
        assert types.count(once) <= 1
