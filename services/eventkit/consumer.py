"""The consumer loop: takes what is there, has it handled, then commits the offsets.

Where infrastructure is away, or the database refuses a statement of ours, the partitions are paused
and the same batch is tried again, for ever, while polling goes on, so that the group keeps its
member and no event is skipped.
"""

import json
import random
import threading
import time
from collections.abc import Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from services.eventkit import logs, metrics, trouble
from services.eventkit.batch import BatchHandler
from services.eventkit.records import RawRecord, headers_of

LOG = logs.logger("consumer")
_POLL = 0.2
_COMMIT_EVERY = 0.5
_MANY_BYTES = 1_000_000
_STATISTICS_EVERY = 5.0
_SILENT_AFTER = 15.0


class BatchConsumer:
    """One member of a service's consumer group.

    ``wake_worker`` is set after a batch that planned jobs; the broker keeps records back for up to
    ``gather`` seconds, so that more share a batch. ``ticked`` is when the loop last turned,
    ``connected`` when a broker was last known to be there, ``waiting`` why a batch is held back.
    """

    def __init__(
        self,
        bootstrap: str,
        group: str,
        topics: Sequence[str],
        handler: BatchHandler,
        wake_worker: threading.Event,
        batch_size: int = 500,
        gather: float = 0.0,
    ) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "client.id": group,
                "group.protocol": "consumer",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "fetch.min.bytes": _MANY_BYTES if gather else 1,
                "fetch.wait.max.ms": int(gather * 1000) or 500,
                "log_level": 3,
                "error_cb": _log_error,
                "on_commit": _log_commit,
                "stats_cb": self._on_statistics,
                "statistics.interval.ms": int(_STATISTICS_EVERY * 1000),
            }
        )
        self._topics = list(topics)
        self._handler = handler
        self._wake_worker = wake_worker
        self._batch_size = batch_size
        self._handled: dict[tuple[str, int], int] = {}
        self._committed_at = 0.0
        self.ticked = self.connected = time.monotonic()
        self.assigned = False
        self.waiting: str | None = None

    def problem(self) -> str | None:
        """Why nothing is consumed at the moment, or None."""
        if not self.assigned:
            return "no partition assigned yet"
        silent = time.monotonic() - self.connected
        if silent > _SILENT_AFTER:
            return f"no broker for {silent:.0f} s"
        return f"a batch waits: {self.waiting}" if self.waiting else None

    def run(self, stop: threading.Event) -> None:
        """Consumes until ``stop`` is set, finishes the batch in hand, and leaves the group."""
        self._consumer.subscribe(self._topics, on_assign=self._on_assign, on_revoke=self._on_revoke)
        try:
            while not stop.is_set():
                self.ticked = time.monotonic()
                records = self._take()
                if records:
                    self._handle(records, stop)
                self._commit(_COMMIT_EVERY)
        finally:
            self._commit(0)
            self._consumer.close()

    def _take(self) -> list[RawRecord]:
        """Waits for a first record, then takes what else is there without waiting for more."""
        first = self._consumer.poll(_POLL)
        if first is None:
            return []
        more = self._consumer.consume(self._batch_size - 1, 0)
        return [_record(message) for message in (first, *more) if _is_record(message)]

    def _handle(self, records: list[RawRecord], stop: threading.Event) -> None:
        started = time.monotonic()
        attempt = 0
        while True:
            try:
                new_jobs = self._handler.handle(records)
                break
            except trouble.INFRASTRUCTURE as error:
                attempt += 1
                records += self._wait(attempt, error)
                if stop.is_set():
                    return  # not committed: read again by whoever comes next
        self.waiting = None
        if attempt:
            self._consumer.resume(self._consumer.assignment())
        metrics.BATCH_SIZE.observe(len(records))
        metrics.BATCH_SECONDS.observe(time.monotonic() - started)
        if new_jobs:
            self._wake_worker.set()
        for record in records:
            place = (record.topic, record.partition)
            self._handled[place] = max(record.offset + 1, self._handled.get(place, 0))

    def _wait(self, attempt: int, error: Exception) -> list[RawRecord]:
        """Backs off with all partitions paused, still polling; returns records of new partitions.

        A partition assigned during the wait can deliver before it is paused here.
        """
        delay = random.uniform(0.1, min(10.0, 0.2 * 2 ** min(attempt, 10)))
        self.waiting = logs.short(error)
        metrics.RETRIES.labels("consumer").inc()
        trouble.tell(LOG, error, "the batch waits", attempt=attempt, delay=round(delay, 2))
        late = []
        until = time.monotonic() + delay
        while time.monotonic() < until:
            self.ticked = time.monotonic()
            self._consumer.pause(self._consumer.assignment())
            message = self._consumer.poll(min(_POLL, delay))
            if message is not None and _is_record(message):
                late.append(_record(message))
        return late

    def _commit(self, every: float) -> None:
        """Asks for the commit of what is handled, at most once in ``every`` seconds.

        Nobody waits for the answer: a broker that is away must not stop the loop, and what was not
        committed is a redelivery of rows that the inbox knows.
        """
        if not self._handled or time.monotonic() - self._committed_at < every:
            return
        offsets = [TopicPartition(*place, offset) for place, offset in self._handled.items()]
        try:
            self._consumer.commit(offsets=offsets, asynchronous=True)
        except KafkaException as error:
            _log_commit(error.args[0], offsets)
        self._handled.clear()
        self._committed_at = time.monotonic()

    def _on_statistics(self, text: str) -> None:
        """Notes that a broker is there: the client itself waits for one without a word."""
        brokers = json.loads(text)["brokers"].values()
        if any(broker["state"] == "UP" for broker in brokers):
            self.connected = time.monotonic()

    def _on_assign(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.assigned = True
        LOG.info("partitions assigned", partitions=_names(partitions))

    def _on_revoke(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self._commit(0)
        LOG.info("partitions revoked", partitions=_names(partitions))


def _is_record(message: Message) -> bool:
    error = message.error()
    if error is None:
        return True
    if error.fatal():
        raise KafkaException(error)
    LOG.warning("broker error", error=str(error))
    return False


def _record(message: Message) -> RawRecord:
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    if topic is None or partition is None or offset is None:
        raise ValueError("a record without a place")
    key: Any = message.key()
    value: Any = message.value()
    kind, milliseconds = message.timestamp()
    published_at = milliseconds / 1000 if kind else None
    headers = headers_of(message)
    return RawRecord(topic, partition, offset, key, value, headers, published_at, time.time())


def _names(partitions: Sequence[TopicPartition]) -> list[str]:
    return sorted(f"{partition.topic}[{partition.partition}]" for partition in partitions)


def _log_error(error: KafkaError) -> None:
    LOG.warning("broker error", error=str(error))


def _log_commit(error: KafkaError | None, _: Sequence[TopicPartition]) -> None:
    if error is not None:
        LOG.warning("offsets not committed", error=str(error)[:300])
