"""A good client: steady orders of every kind, each asked for until it is answered."""

import itertools
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import httpx
import tenacity

from services.orderctl.client import Shop, problem_text
from services.orderctl.errors import CliError
from services.orderctl.load.orders import order_body, request_headers
from services.orderctl.mix import Dealer, Kind

CLIENTS = 40
FINAL_ANSWERS = {httpx.codes.ACCEPTED, httpx.codes.CONFLICT}
"""To a cancellation: it will be, or the order had already ended."""
CHARGE_POLL = 0.25
CHARGE_PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Accepted:
    """An order that was answered 202; ``sent_at`` is when the POST so answered was sent."""

    order_id: str
    kind: Kind
    sent_at: float
    attempts: int


class Refused(Exception):
    """An answer that asking again will not change."""


class Client:
    """Places ``rate`` orders a second from `start` to `finish`, whatever happens to them."""

    def __init__(self, shop: Shop, rate: float, dealer: Dealer) -> None:
        self.accepted: list[Accepted] = []
        self.refused: list[str] = []
        self.unanswered: Counter[str] = Counter()
        """POSTs that came to nothing and were sent again, by what they met."""
        self.sent = 0
        self._shop = shop
        self._rate = rate
        self._dealer = dealer
        self._over = threading.Event()
        self._given_up = threading.Event()
        self._pool = ThreadPoolExecutor(CLIENTS, thread_name_prefix="client")
        self._cancels = ThreadPoolExecutor(CLIENTS, thread_name_prefix="cancel")
        self._orders: list[Any] = []
        self._cancellations: list[Any] = []
        self._pace = threading.Thread(target=self._send, name="pace", daemon=True)

    def start(self) -> None:
        """Send the first order."""
        self._pace.start()

    def finish(self, patience: float) -> None:
        """Send no more, and return once all are answered; after ``patience`` seconds give up."""
        self._over.set()
        self._pace.join()
        deadline = time.monotonic() + patience
        wait(self._orders, patience)
        wait(self._cancellations, max(0.0, deadline - time.monotonic()))
        self._given_up.set()
        self._pool.shutdown()
        self._cancels.shutdown()
        for future in (*self._orders, *self._cancellations):
            if error := future.exception():
                self.refused.append(f"{type(error).__name__}: {error}")

    @property
    def open(self) -> int:
        """Orders that were sent and not answered yet."""
        return self.sent - len(self.accepted) - len(self.refused)

    def accepted_since(self, moment: float) -> list[Accepted]:
        """Orders whose answered POST was sent after that moment, in seconds of this clock."""
        return [order for order in self.accepted[-1000:] if order.sent_at >= moment]

    def _send(self) -> None:
        begin = time.monotonic()
        for number in itertools.count():
            if self._over.wait(max(0.0, begin + number / self._rate - time.monotonic())):
                return
            self.sent += 1
            self._orders.append(self._pool.submit(self._place, number, self._dealer.next()))

    def _place(self, number: int, kind: Kind) -> None:
        body, headers = order_body(kind, number), request_headers()
        for attempt in self._persistently():
            with attempt:
                sent_at = time.time()
                answer = self._answer("POST", "/orders", json=body, headers=headers)
                if answer.status_code != httpx.codes.ACCEPTED:
                    raise Refused(f"POST answered {answer.status_code}: {problem_text(answer)}")
        order_id = str(answer.json()["order_id"])
        attempts = attempt.retry_state.attempt_number
        self.accepted.append(Accepted(order_id, kind, sent_at, attempts))
        if kind.cancel:
            cancel = self._cancel if kind.cancel == "at_once" else self._cancel_while_charging
            self._cancellations.append(self._cancels.submit(cancel, order_id))

    def _cancel_while_charging(self, order_id: str) -> None:
        deadline = time.monotonic() + CHARGE_PATIENCE
        while not self._is_charged(order_id) and time.monotonic() < deadline:
            time.sleep(CHARGE_POLL)
        self._cancel(order_id)

    def _is_charged(self, order_id: str) -> bool:
        try:
            return self._shop.charge_status(order_id) is not None
        except CliError:
            return False

    def _cancel(self, order_id: str) -> None:
        for attempt in self._persistently():
            with attempt:
                answer = self._answer("DELETE", f"/orders/{order_id}")
                if answer.status_code not in FINAL_ANSWERS:
                    raise Refused(f"DELETE answered {answer.status_code} for {order_id}")

    def _answer(self, method: str, path: str, **options: Any) -> httpx.Response:
        """The answer; CliError for none, and for one that says that a later one may be better."""
        try:
            answer = self._shop.orders.send(method, path, **options)
        except CliError as error:
            cause = type(error.__cause__).__name__
            self.unanswered[cause] += 1
            raise
        again = answer.is_server_error or "Retry-After" in answer.headers
        if again:
            self.unanswered[f"{answer.status_code}"] += 1
            raise CliError(f"answered {answer.status_code}")
        return answer

    def _persistently(self) -> tenacity.Retrying:
        return tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(CliError),
            wait=tenacity.wait_random_exponential(multiplier=0.2, max=2),
            stop=tenacity.stop_when_event_set(self._given_up),
            reraise=True,
        )
