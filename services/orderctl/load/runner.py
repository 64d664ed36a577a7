"""Places orders from several clients at a steady rate, or as fast as they can."""

import itertools
import random
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from services.orderctl.client import Shop
from services.orderctl.errors import CliError
from services.orderctl.load.orders import order_body, request_headers
from services.orderctl.mix import Dealer, Kind

CHARGE_POLL = 0.1
CHARGE_DEADLINE = 30.0
REFUSED_FOR = 60.0
"""How many seconds an order that is refused for now is sent again, as often as it is told to."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to place: ``rate`` orders a second (None: no pause), until a number or a time is up."""

    rate: float | None
    orders: int | None
    duration: float | None
    clients: int


@dataclass(frozen=True, slots=True)
class Placed:
    """An order that was accepted; ``sent_at`` is when its POST was sent, in seconds."""

    order_id: str
    kind: Kind
    sent_at: float
    answered_at: float


@dataclass
class Run:
    """What came of placing; filled by all clients at once."""

    placed: list[Placed] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    refused: int = 0
    late: float = 0.0
    finished: bool = False


class Runner:
    """Runs a plan; `start` returns at once, `join` when every order was sent."""

    def __init__(self, shop: Shop, plan: Plan, dealer: Dealer) -> None:
        self.run = Run()
        self._shop = shop
        self._plan = plan
        self._dealer = dealer
        self._lock = threading.Lock()
        self._tickets = self._schedule()
        self._cancels = ThreadPoolExecutor(8, thread_name_prefix="cancel")
        self._clients = [
            threading.Thread(target=self._client, name=f"client-{n}", daemon=True)
            for n in range(plan.clients)
        ]

    def start(self) -> None:
        """Begin."""
        for client in self._clients:
            client.start()

    def join(self) -> None:
        """Wait until all orders were sent and all cancellations asked for."""
        for client in self._clients:
            client.join()
        self._cancels.shutdown(wait=True)
        self.run.finished = True

    @property
    def sending(self) -> bool:
        """True while a client still has orders to send."""
        return any(client.is_alive() for client in self._clients)

    def _schedule(self) -> Iterator[tuple[int, float, Kind]]:
        """Number, due time and kind of each order; called under the lock."""
        begin = time.monotonic()
        for number in itertools.count():
            due = begin + number / self._plan.rate if self._plan.rate else time.monotonic()
            if self._plan.orders is not None and number >= self._plan.orders:
                return
            if self._plan.duration is not None and due >= begin + self._plan.duration:
                return
            yield number, due, self._dealer.next()

    def _client(self) -> None:
        while True:
            with self._lock:
                ticket = next(self._tickets, None)
            if ticket is None:
                return
            number, due, kind = ticket
            late = time.monotonic() - due
            if late < 0:
                time.sleep(-late)  # the pace that was asked for, not a wait for the system
            else:
                self.run.late = max(self.run.late, late)
            try:
                self._place(number, kind)
            except CliError as error:
                self.run.errors.append(error.message)

    def _place(self, number: int, kind: Kind) -> None:
        sent_at, answer = self._accepted(order_body(kind, number), request_headers())
        order_id = str(answer["order_id"])
        self.run.placed.append(Placed(order_id, kind, sent_at, time.time()))
        if kind.cancel == "at_once":
            self._shop.cancel(order_id)
        elif kind.cancel == "while_charging":
            self._cancels.submit(self._cancel_while_charging, order_id)

    def _accepted(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> tuple[float, Any]:
        """Sends an order until it is not refused for now; when it was sent then, and the answer."""
        until = time.monotonic() + REFUSED_FOR
        while True:
            sent_at = time.time()
            try:
                return sent_at, self._shop.place(body, headers)
            except CliError as error:
                if error.retry_after is None or time.monotonic() > until:
                    raise
                with self._lock:
                    self.run.refused += 1
                # As the answer says, but not all at the same moment.
                time.sleep(error.retry_after * random.uniform(1, 1.5))

    def _cancel_while_charging(self, order_id: str) -> None:
        try:
            cancel_while_charging(self._shop, order_id)
        except CliError as error:
            self.run.errors.append(error.message)


def cancel_while_charging(shop: Shop, order_id: str) -> None:
    """Cancel once the provider is busy with the charge: it will be captured, then refunded."""
    deadline = time.monotonic() + CHARGE_DEADLINE
    while shop.charge_status(order_id) is None:
        if time.monotonic() > deadline:
            raise CliError(f"order {order_id} was not charged within {CHARGE_DEADLINE:.0f} s")
        time.sleep(CHARGE_POLL)
    shop.cancel(order_id)
