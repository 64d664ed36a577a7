"""One test's use of the shop: goods and customers of its own, and the orders it placed."""

import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx

from infra.names import EMITTERS
from services.orderctl import projector_letters
from services.orderctl.client import Shop
from services.orderctl.errors import NOT_ANSWERING, CliError
from services.orderctl.operations import Operations
from services.orderctl.settings import Settings
from services.orderctl.timeline import entry, golden
from services.orderctl.waiting import ending_of
from tests.live_stack import System
from tests.saga.support import invariants
from tests.saga.support.databases import Databases
from tests.saga.support.topics import Place, Read, Topics
from tests.saga.support.wait import until

SUFFIX = re.compile(r"-[0-9a-f]{8}\b")
OPEN_STOCK = 1000
OVERLOADED = "/problems/overloaded"


class Saga:
    """Goods, customers and orders that no other test touches, and what became of them."""

    def __init__(self, stack: System, settings: Settings, shop: Shop, topics: Topics) -> None:
        self.stack = stack
        self.settings = settings
        self.shop = shop
        self.topics = topics
        self.db = Databases(settings)
        self.orders: list[str] = []
        self.skus: list[str] = []
        self.produced: list[str] = []

    def goods(self, name: str, quantity: int) -> str:
        """A new SKU with so many pieces."""
        sku = f"{name}-{uuid4().hex[:8]}"
        self.skus.append(sku)
        self.shop.receive_stock({sku: quantity})
        return sku

    def unheard_of(self) -> str:
        """A new SKU that was never received."""
        return f"UNICORN-{uuid4().hex[:8]}"

    def customer(self, mailbox: str = "") -> str:
        """A new customer who can be mailed; ``mailbox`` begins the address (see the mail sink)."""
        name = f"customer-{uuid4().hex[:8]}"
        self.shop.put_contact(name, "Ada Example", f"{mailbox}{name}@shop.example")
        return name

    def body(
        self,
        lines: Mapping[str, int] | None = None,
        token: str = "tok_ok",
        unit_price: int = 1250,
        **more: Any,
    ) -> dict[str, Any]:
        """The JSON of an order: SKU and quantity of each line, one MUG in stock by default."""
        wanted = lines if lines is not None else {self.goods("MUG", OPEN_STOCK): 1}
        return {
            "customer_id": more.pop("customer_id", None) or self.customer(),
            "currency": "EUR",
            "payment_token": token,
            "lines": [
                {"sku": sku, "quantity": quantity, "unit_price": unit_price}
                for sku, quantity in wanted.items()
            ],
            **more,
        }

    def post(self, body: Any, headers: Mapping[str, str] | None = None) -> httpx.Response:
        """Sends an order until there is an answer, as a careful client does: under one key.

        An accepted order is remembered.
        """
        sent = {"Idempotency-Key": str(uuid4()), **(headers or {})}
        answer = until(lambda: self._answer(body, sent), "an answer to POST /orders", 90)
        if answer.status_code == httpx.codes.ACCEPTED:
            order_id = answer.json()["order_id"]
            if order_id not in self.orders:
                self.orders.append(order_id)
        return answer

    def place(
        self, lines: Mapping[str, int] | None = None, token: str = "tok_ok", **more: Any
    ) -> str:
        """Places an order; its id."""
        answer = self.post(self.body(lines, token, **more))
        assert answer.status_code == httpx.codes.ACCEPTED, answer.text
        return str(answer.json()["order_id"])

    @contextmanager
    def ordering(self) -> Iterator[None]:
        """A customer who orders again and again meanwhile, whatever the answers."""
        body = self.body()
        stop = threading.Event()

        def go_on() -> None:
            while not stop.wait(0.3):
                self.post(body)

        thread = threading.Thread(target=go_on)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def more_orders(self, count: int) -> list[str]:
        """Waits for so many more orders of `ordering`; those."""
        before = len(self.orders)
        until(lambda: len(self.orders) >= before + count, f"{count} more orders")
        return self.orders[before:]

    def order(self, order_id: str) -> Any:
        """The order as its service has it now."""
        return self.shop.order(order_id)

    def ended(self, order_id: str, seconds: float = 40.0) -> str:
        """Waits for an order's ending, such as ``cancelled:out_of_stock``.

        A service that was killed does not answer for as long as its restart takes.
        """
        return until(lambda: self._ending(order_id), f"the ending of {order_id}", seconds)

    def _ending(self, order_id: str) -> str | None:
        try:
            return ending_of(self.order(order_id))
        except CliError as error:
            if error.code != NOT_ANSWERING:
                raise
            return None

    def view(self, order_id: str) -> Any:
        """The order as the read model has it now; it must be there."""
        return self.shop.projector.call("GET", f"/orders/{order_id}")

    def cancelled(self, order_id: str) -> None:
        """Asks for cancellation, which must be accepted."""
        answer = self.shop.cancel(order_id)
        assert answer.status_code == httpx.codes.ACCEPTED, answer.text

    def wait_for(self, order_id: str, *event_types: str) -> None:
        """Waits until all these events of an order are on their topics."""
        wanted = set(event_types)
        until(
            lambda: wanted <= set(self.topics.types(order_id)),
            f"{sorted(wanted)} of {order_id}",
        )

    def charging(self, order_id: str) -> None:
        """Waits until the provider has been asked for the order's money."""
        until(lambda: self.requests(order_id), f"a charge of {order_id} under way")

    def captured(self, order_id: str) -> None:
        """Waits until the payment service knows that the order's money was taken."""
        query = "SELECT 1 AS found FROM payments WHERE key = :key AND status = 'captured'"
        until(lambda: self.db.row("payment", query, key=order_id), f"the capture of {order_id}")

    def requests(self, order_id: str) -> list[dict[str, Any]]:
        """What the provider was asked under the order's charge key, in order."""
        answer = self.shop.provider.call("GET", "/requests", params={"key": f"payment:{order_id}"})
        return list(answer["requests"])

    def ledger(self, order_id: str) -> dict[str, list[int]]:
        """The amounts the provider moved for an order: captures and refunds."""
        entries = self.shop.provider.call("GET", "/ledger", params={"limit": 1000})["entries"]
        after = entries
        while len(after) == 1000:
            params = {"limit": 1000, "after": after[-1]["seq"]}
            after = self.shop.provider.call("GET", "/ledger", params=params)["entries"]
            entries += after
        ours = [one for one in entries if one["reference"] == order_id]
        return {
            kind: [one["amount"] for one in ours if one["kind"] == kind]
            for kind in ("capture", "refund")
        }

    def stock(self, sku: str) -> tuple[int, int]:
        """A SKU's available and held pieces; none of both where it was never received."""
        row = self.shop.inventory.find(f"/stock/{sku}")
        return (row["available"], row["held"]) if row else (0, 0)

    def mails(self, order_id: str) -> list[dict[str, Any]]:
        """The mails about an order that arrived."""
        answer = self.shop.mail.call("GET", "/messages", params={"order_id": order_id})
        return list(answer["messages"])

    def timeline(self, order_id: str) -> str:
        """The order's tree of causes in the read model, with the names tests gave their goods."""
        view = self.shop.view(order_id) or {"timeline": ()}
        return SUFFIX.sub("", golden(entry(item) for item in view["timeline"]))

    def in_an_hour(self) -> datetime:
        """A deadline that no test reaches."""
        return datetime.now(UTC) + timedelta(hours=1)

    def produce(
        self, event_type: str, key: str, data: Mapping[str, Any], sequence: int = 1
    ) -> Place:
        """Puts an event of our own on its topic."""
        place = self.topics.produce(event_type, key, data, sequence)
        self.produced.append(place.message_id)
        return place

    def again(self, read: Read, *, new_id: bool) -> Place:
        """Puts a record on its topic once more, with its own or a new message id."""
        place = self.topics.again(read, new_id=new_id)
        if new_id:
            self.produced.append(place.message_id)
        return place

    def put_aside(self, service: str, message_id: str) -> bool:
        """Whether a record lies among a service's open dead letters."""
        query = """
            SELECT 1 AS found FROM dead_letters
            WHERE message_id = CAST(:id AS uuid) AND status NOT IN ('redriven', 'discarded')"""
        return self.db.row(service, query, id=message_id) is not None

    def discard(self, message_id: str) -> None:
        """Gives up the letters about a record that the test itself produced, wherever they are."""
        decide = Operations(self.shop, "tests", "poison on purpose")
        for service in EMITTERS:
            if self.put_aside(service, message_id):
                decide.discard(service, message_id)
        if self.put_aside("projector", message_id):
            projector_letters.discard(self.settings, message_id, "tests", "poison on purpose")

    def verify(self, orders: Sequence[str] = (), seconds: float = 60.0) -> None:
        """Every invariant of ``orderctl verify`` holds for this test's orders and goods."""
        wanted = set(orders or self.orders)
        invariants.check(
            self.settings, self.shop, wanted, set(self.skus), set(self.produced), seconds
        )

    def _answer(self, body: Any, headers: Mapping[str, str]) -> httpx.Response | None:
        try:
            answer = self.shop.orders.send("POST", "/orders", json=body, headers=headers)
        except CliError:
            return None  # no answer, or none in time: nobody knows what became of it
        if answer.is_server_error and answer.json()["type"] == OVERLOADED:
            time.sleep(float(answer.headers["Retry-After"]))  # as it says
            return None
        return answer
