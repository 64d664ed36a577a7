"""Watches the topics during a load: when orders end, and how long the relay takes."""

import threading
import time
from collections import defaultdict
from dataclasses import dataclass

from confluent_kafka import Consumer

from services.eventkit.codec import Codec
from services.orderctl.kafka import Record, assign_at_end, bystander, records_of

TOPICS = ("order.events", "inventory.events", "payment.events")
ENDINGS = {
    "OrderConfirmed": "confirmed",
    "OrderCancelled": "cancelled",
    "OrderNeedsAttention": "needs_attention",
}


@dataclass(frozen=True, slots=True)
class Ending:
    """How an order ended; both times are seconds of this machine's clock.

    ``decided_at`` is when the order service wrote the ending, ``seen_at`` when it was read here.
    """

    name: str
    decided_at: float
    seen_at: float


class Observer:
    """Reads every topic in a thread of its own, from the moment `start` returns."""

    def __init__(self, bootstrap: str, codec: Codec) -> None:
        self.endings: dict[str, Ending] = {}
        self.hops: dict[str, list[tuple[str, float]]] = defaultdict(list)
        self.failure: Exception | None = None
        self._consumer: Consumer = bystander(bootstrap)
        self._codec = codec
        self._stop = threading.Event()
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="observer", daemon=True)

    def start(self) -> None:
        """Fix the starting offsets, then read from there."""
        assign_at_end(self._consumer, TOPICS)
        self._thread.start()

    def stop(self) -> None:
        """Stop reading; raises what made the thread fail, if anything did."""
        self._stop.set()
        self._thread.join()
        self._consumer.close()
        if self.failure is not None:
            raise self.failure

    def wait(self, seconds: float) -> None:
        """Return when something was read, or after that many seconds."""
        with self._changed:
            self._changed.wait(seconds)

    def hop_ms(self, orders: set[str]) -> dict[str, list[float]]:
        """Milliseconds from outbox row to reader for the events of these orders, by topic."""
        return {
            topic: [ms for key, ms in samples if key in orders]
            for topic, samples in sorted(self.hops.items())
        }

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self._read()
        except Exception as error:
            self.failure = error

    def _read(self) -> None:
        # poll waits for one, consume takes what else is there: consume alone would wait for all.
        first = self._consumer.poll(0.2)
        if first is None:
            return
        now = time.time()
        for record in records_of((first, *self._consumer.consume(499, 0))):
            self._note(record, now)
        with self._changed:
            self._changed.notify_all()

    def _note(self, record: Record, now: float) -> None:
        event_type = record.headers.get("ce_type", "")
        order_id = (record.key or b"").decode(errors="replace")
        self.hops[record.topic].append((order_id, now * 1000 - record.created_ms))
        if event_type in ENDINGS and order_id not in self.endings:
            name = self._ending_name(event_type, record)
            self.endings[order_id] = Ending(name, record.created_ms / 1000, now)

    def _ending_name(self, event_type: str, record: Record) -> str:
        name = ENDINGS[event_type]
        if name != "cancelled":
            return name
        return f"{name}:{self._codec.decode(event_type, record.value)['reason']}"
