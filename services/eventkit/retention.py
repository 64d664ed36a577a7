"""Forgetting: old inbox and outbox rows, in short transactions, and never one that is still needed.

An outbox row goes only when it is older than the retention *and* the relay has read it. To be sure
of that, the rows are chosen first and the end of the write-ahead log is noted after; once the slot
has confirmed that place, it has confirmed every row that was there to be chosen.
"""

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from services.eventkit import logs, metrics
from services.eventkit.relay import slot_of

LOG = logs.logger("retention")

BATCH = 2000
_POLL_SECONDS = 0.5

_OLD_INBOX = """
DELETE FROM inbox WHERE message_id IN (
    SELECT message_id FROM inbox i WHERE received_at < :before AND status = 'done'
    AND NOT EXISTS (SELECT FROM dead_letters d WHERE d.message_id = i.message_id)
    ORDER BY received_at LIMIT :batch)"""

# The oldest rows have the lowest numbers: what is not old does not have to be looked through.
_OLD_OUTBOX = sa.text("""
SELECT message_id FROM (
    SELECT message_id, created_at FROM outbox ORDER BY seq LIMIT :batch) AS first
WHERE created_at < CAST(:before AS timestamptz) AT TIME ZONE 'utc'""")

_HAS_READ = sa.text("""
SELECT coalesce(bool_or(active AND confirmed_flush_lsn >= CAST(:place AS pg_lsn)), false)
FROM pg_replication_slots WHERE slot_name = :slot AND wal_status <> 'lost'""")

_DELETE = sa.text("DELETE FROM outbox WHERE message_id = ANY(:ids)").bindparams(
    sa.bindparam("ids", type_=ARRAY(sa.Uuid))
)


def prune_inbox(db: sa.Engine, keep: timedelta) -> int:
    """Deletes inbox rows older than ``keep``, except of what is dead or parked; how many."""
    return prune(db, "inbox", _OLD_INBOX, keep)


def prune(db: sa.Engine, table: str, statement: str, keep: timedelta) -> int:
    """Runs a DELETE until it finds nothing more; how many rows it deleted.

    ``statement`` deletes up to ``:batch`` rows from before ``:before``, in a transaction each time.
    """
    values = {"before": datetime.now(UTC) - keep, "batch": BATCH}
    deleted, count = 0, BATCH
    while count == BATCH:
        with db.begin() as conn:
            count = conn.execute(sa.text(statement), values).rowcount
        deleted += count
    metrics.PRUNED.labels(table).inc(deleted)
    return deleted


def prune_outbox(db: sa.Engine, service: str, keep: timedelta, wait: float = 8.0) -> int:
    """Deletes outbox rows older than ``keep`` that the relay has read; how many.

    Waits up to ``wait`` seconds for the relay, then leaves the rows for the next time.
    """
    deleted = 0
    while ids := _old_rows(db, keep):
        if not _has_read(db, service, _place(db), wait):
            LOG.warning("old outbox rows are kept: the relay has not read them", rows=len(ids))
            break
        with db.begin() as conn:
            deleted += conn.execute(_DELETE, {"ids": ids}).rowcount
    metrics.PRUNED.labels("outbox").inc(deleted)
    return deleted


def _old_rows(db: sa.Engine, keep: timedelta) -> Sequence[UUID]:
    values = {"before": datetime.now(UTC) - keep, "batch": BATCH}
    with db.connect() as conn:
        return conn.execute(_OLD_OUTBOX, values).scalars().all()


def _place(db: sa.Engine) -> str:
    with db.connect() as conn:
        return str(conn.execute(sa.text("SELECT pg_current_wal_insert_lsn()::text")).scalar_one())


def _has_read(db: sa.Engine, service: str, place: str, wait: float) -> bool:
    deadline = time.monotonic() + wait
    while True:
        with db.connect() as conn:
            query = {"place": place, "slot": slot_of(service)}
            if conn.execute(_HAS_READ, query).scalar_one():
                return True
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
