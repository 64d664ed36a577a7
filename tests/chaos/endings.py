"""Watches orders end, on the topic, from outside the disturbed connections."""

import threading
import time
from contextlib import suppress

from confluent_kafka import Consumer

from services.orderctl.kafka import Record, as_record, assign_at_end
from services.orderctl.load.observer import ENDINGS


class Endings:
    """Reads the orders' topic in a thread of its own, from the moment `start` returns."""

    def __init__(self, bootstrap: str) -> None:
        self.seen_at: dict[str, float] = {}
        self.confirmed: dict[str, float] = {}
        """When an order's first ending was read, and when its confirmation was."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="endings", daemon=True)
        # A broker that is back is noticed at once: it is the recovery of others that is measured.
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "chaos-bystander",  # required by the library; never joined
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "reconnect.backoff.max.ms": 500,
                "fetch.wait.max.ms": 100,
                "log_level": 0,
            }
        )

    def start(self) -> None:
        """Fix the starting offsets, then read from there."""
        assign_at_end(self._consumer, ["order.events"])
        self._thread.start()

    def stop(self) -> None:
        """Read no more."""
        self._stop.set()
        self._thread.join()
        self._consumer.close()

    def _run(self) -> None:
        while not self._stop.is_set():
            message = self._consumer.poll(0.2)
            # Errors tell of a broker that is away, and pass when it is back.
            if message is not None and message.error() is None:
                self._note(as_record(message), time.time())

    def _note(self, record: Record, now: float) -> None:
        ending = ENDINGS.get(record.headers.get("ce_type", ""))
        if ending is None or record.key is None:
            return
        with suppress(UnicodeDecodeError):
            order_id = record.key.decode()
            self.seen_at.setdefault(order_id, now)
            if ending == "confirmed":
                self.confirmed.setdefault(order_id, now)
