"""One batch of records, one transaction: read, project, write. It knows no Kafka client."""

import time
from collections import Counter as Tally
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import psycopg
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from services.eventkit import hops, logs, metrics, tracing
from services.eventkit.codec import Codec
from services.eventkit.envelope import event_type_of
from services.eventkit.records import Message, Poison, RawRecord, next_offsets, read
from services.eventkit.taken import TakenSpans
from services.eventkit.trouble import is_the_records_fault
from services.projector import control, letters, store, timeline
from services.projector.views import TimelineEntry

SKIPPED = "skipped"

_LOG = logs.logger("projector")


@dataclass(frozen=True, slots=True)
class Read:
    """A record that was read, with the entry it becomes."""

    message: Message
    entry: TimelineEntry


def read_record(record: RawRecord, codec: Codec) -> Read | Poison | None:
    """What a record tells of an order; None where it is about none, `Poison` where nobody knows."""
    event_type = event_type_of(record.headers)
    if event_type is not None and not timeline.is_projected(event_type):
        metrics.EVENTS.labels("other", record.topic, SKIPPED).inc()
        return None
    message = read(record, codec)
    if isinstance(message, Poison):
        return message
    entry = timeline.entry_of(message)
    return entry if isinstance(entry, Poison) else Read(message, entry)


def poison_of(message: Message | Poison, error: Exception) -> Poison:
    """A record that was read, and that a rule or the database does not take."""
    reason = "refused" if isinstance(error, DBAPIError | psycopg.Error) else "rule"
    text = f"{type(error).__name__}: {getattr(error, 'orig', error)}"
    return Poison(message.record, message.id, reason, text, message.envelope)


class BatchProjector:
    """Projects batches of raw records into the read model."""

    def __init__(self, engine: sa.Engine, codec: Codec, group: str) -> None:
        self._engine = engine
        self._codec = codec
        self._group = group

    def handle(self, records: Sequence[RawRecord]) -> None:
        """Projects the records and stores the next offsets; both or neither are committed.

        Raises only what says that infrastructure is away, and `control.Paused`; then nothing
        happened. A record that cannot be projected becomes a dead letter.
        """
        started = time.monotonic()
        try:
            self._transaction(records)
        except Exception as error:
            if not _is_the_records_fault(error):
                raise
            self._one_by_one(records)
        metrics.BATCH_SIZE.observe(len(records))
        metrics.BATCH_SECONDS.observe(time.monotonic() - started)

    def _one_by_one(self, records: Iterable[RawRecord]) -> None:
        """Finds the record at fault; each gets a transaction of its own."""
        for record in records:
            try:
                self._transaction([record])
            except Exception as error:
                if not _is_the_records_fault(error):
                    raise
                self._put_aside(record, error)

    def _put_aside(self, record: RawRecord, error: Exception) -> None:
        poison = poison_of(read(record, self._codec), error)
        self._commit([], [poison], [record])
        _report([], [], [poison])

    def _transaction(self, records: Sequence[RawRecord]) -> None:
        spans = TakenSpans(self._group, len(records))
        found: list[Read] = []
        poisons: list[Poison] = []
        for record in records:
            one = read_record(record, self._codec)
            if isinstance(one, Read):
                found.append(one)
            elif isinstance(one, Poison):
                poisons.append(one)
        outcomes = self._commit([one.entry for one in found], poisons, records)
        _report(found, outcomes, poisons)
        hops.measure(records, [one.message for one in found])
        _trace(found, outcomes, spans)

    def _commit(
        self,
        entries: Sequence[TimelineEntry],
        poisons: Sequence[Poison],
        records: Sequence[RawRecord],
    ) -> list[str]:
        batch = store.Batch(entries, poisons, next_offsets(records))
        with self._engine.begin() as conn:
            return store.write(conn, batch)


def _is_the_records_fault(error: Exception) -> bool:
    return is_the_records_fault(error, control.Paused)


def _report(found: Sequence[Read], outcomes: Sequence[str], poisons: Sequence[Poison]) -> None:
    handled = zip(found, outcomes, strict=True)
    labels = ((one.entry.event_type, one.entry.topic, outcome) for one, outcome in handled)
    metrics.count(metrics.EVENTS, labels)
    for poison in poisons:
        metrics.DEAD_LETTERS.labels(letters.DEAD, poison.reason).inc()
        record = poison.record
        _LOG.error(
            "dead letter",
            reason=poison.reason,
            error=poison.error,
            message_id=str(poison.id),
            position=f"{record.topic}/{record.partition}/{record.offset}",
        )
    if outcomes:
        _LOG.info("projected", events=len(outcomes), **Tally(outcomes))


def _trace(found: Sequence[Read], outcomes: Sequence[str], spans: TakenSpans) -> None:
    """One span a new event, in its saga's trace; a replay adds none to the old traces."""
    for one, outcome in zip(found, outcomes, strict=True):
        if outcome != store.REPEAT:
            tracing.annotate(spans.process(one.message), **{"saga.outcome": outcome})
    spans.finish()
