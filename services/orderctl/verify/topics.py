"""Topics: every outbox row arrived where it belongs, and nothing else did."""

from collections import defaultdict
from collections.abc import Iterator

from services.orderctl.murmur2 import partition_of
from services.orderctl.verify.data import Snapshot
from services.orderctl.verify.finding import Finding, finding


def outbox_published(snapshot: Snapshot) -> Finding:
    """Every outbox row is on its topic at least once."""
    arrived: dict[str, set[str]] = defaultdict(set)
    for record in snapshot.records:
        if record.message_id:
            arrived[record.topic].add(record.message_id)
    missing = (
        f"{row.event_type} {row.message_id} of {row.key} is not on {row.topic}"
        for row in snapshot.outbox
        if row.message_id not in arrived[row.topic]
    )
    return finding(len(snapshot.outbox), missing)


def events_have_rows(snapshot: Snapshot) -> Finding:
    """Every event on a topic has its outbox row, as long as rows are kept."""
    written = {(row.topic, row.message_id) for row in snapshot.outbox}
    recent = [r for r in snapshot.records if r.created_at >= snapshot.kept_since]
    strangers = (
        f"{record.topic}/{record.partition}@{record.offset}: "
        + (f"{record.message_id} has no outbox row" if record.message_id else "no message id")
        for record in recent
        if (record.topic, record.message_id) not in written
    )
    return finding(len(recent), strangers)


def keys_in_place(snapshot: Snapshot) -> Finding:
    """Every record has its row's key, byte for byte, and lies in the partition of that key."""
    keys = {row.message_id: row.key.encode() for row in snapshot.outbox}

    def problems() -> Iterator[str]:
        for record in snapshot.records:
            where = f"{record.topic}/{record.partition}@{record.offset}"
            if record.key is None:
                yield f"{where}: no key"
                continue
            expected = partition_of(record.key, snapshot.partitions[record.topic])
            if record.partition != expected:
                yield f"{where}: key {record.key!r} belongs in partition {expected}"
            if record.message_id in keys and keys[record.message_id] != record.key:
                yield f"{where}: key {record.key!r}, its row has {keys[record.message_id]!r}"

    return finding(len(snapshot.records), problems())
