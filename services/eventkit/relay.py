"""The relay as the owner of an outbox sees it: how far its replication slot has read.

Debezium confirms to the slot what the broker has acknowledged. Every outbox row knows its place in
the write-ahead log, so the rows behind the confirmed place are those that may not be published yet.
Any account may read ``pg_replication_slots``: no service needs a right for this.
"""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from services.eventkit import logs, metrics

LOG = logs.logger("relay")

STREAMING: Final = "streaming"
INACTIVE: Final = "inactive"
"""Nobody reads; the slot keeps what is written, up to ``max_slot_wal_keep_size``."""
AT_RISK: Final = "at_risk"
"""The slot is behind by more than it may be, and will be lost with the next checkpoint."""
LOST: Final = "lost"
"""The slot was cut off: rows that it had not read will never be published by themselves."""
MISSING: Final = "missing"
STATES: Final = (STREAMING, INACTIVE, AT_RISK, LOST, MISSING)

_REPEAT_SECONDS = 60.0
_PATIENCE_SECONDS = 30.0

_SLOT = sa.text("""
SELECT active, wal_status, confirmed_flush_lsn::text AS confirmed,
       pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn)::bigint AS lag,
       pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::bigint AS retained
FROM pg_replication_slots WHERE slot_name = :slot""")

_UNPUBLISHED = sa.text("""
SELECT count(*) AS rows, min(created_at) AS oldest
FROM outbox WHERE lsn > CAST(:confirmed AS pg_lsn)""")


@dataclass(frozen=True, slots=True)
class Relay:
    """A slot and what it has still to read. Bytes are None where the slot has no place any more.

    ``unpublished`` counts rows that are not confirmed, a second's worth of them also while all is
    well; ``oldest`` is when the first of these was written. Both are None where nobody can know.
    """

    slot: str
    state: str
    lag_bytes: int | None = None
    retained_bytes: int | None = None
    unpublished: int | None = None
    oldest: datetime | None = None

    @property
    def broken(self) -> bool:
        """True where rows may have been passed over: only a person can put it right."""
        return self.state in (LOST, MISSING)

    def age(self, now: datetime) -> float:
        """For how many seconds the oldest unpublished row has waited."""
        return max(0.0, (now - self.oldest).total_seconds()) if self.oldest else 0.0


def slot_of(service: str) -> str:
    """The slot that reads a service's outbox."""
    return f"outbox_{service}"


def look(conn: Connection, service: str) -> Relay:
    """The relay of a service, asked in the service's own database."""
    slot = slot_of(service)
    row = conn.execute(_SLOT, {"slot": slot}).mappings().one_or_none()
    if row is None:
        return Relay(slot, MISSING)
    state = _state(row["active"], row["wal_status"])
    if state == LOST:
        return Relay(slot, state)
    rows = conn.execute(_UNPUBLISHED, {"confirmed": row["confirmed"]}).mappings().one()
    oldest = rows["oldest"].replace(tzinfo=UTC) if rows["oldest"] else None
    return Relay(slot, state, row["lag"], row["retained"], rows["rows"], oldest)


def _state(active: bool, wal_status: str | None) -> str:
    if wal_status in (None, "lost"):
        return LOST
    if wal_status == "unreserved":
        return AT_RISK
    return STREAMING if active else INACTIVE


class Watch:
    """Looks at one service's relay again and again: sets its metrics, says what is wrong."""

    def __init__(self, db: sa.Engine, service: str) -> None:
        self._db = db
        self._service = service
        self._since = time.monotonic()
        self._state = STREAMING
        self._said = 0.0

    def look(self) -> None:
        """One look; what goes wrong is said at once where it is final, else after a while."""
        with self._db.connect() as conn:
            relay = look(conn, self._service)
        _publish(relay)
        now = time.monotonic()
        if relay.state != self._state:
            self._state, self._since, self._said = relay.state, now, 0.0
            if relay.state == STREAMING:
                LOG.info("the outbox is read again", slot=relay.slot)
        # A connector that is only just being set up has no slot yet, and a restart is no fault.
        patient = relay.state != LOST and now - self._since < _PATIENCE_SECONDS
        if relay.state == STREAMING or patient or now - self._said < _REPEAT_SECONDS:
            return
        self._said = now
        _complain(relay, self._service)


def _publish(relay: Relay) -> None:
    for state in STATES:
        metrics.SLOT_STATE.labels(state).set(state == relay.state)
    nothing = float("nan")
    metrics.SLOT_LAG.set(nothing if relay.lag_bytes is None else relay.lag_bytes)
    metrics.SLOT_RETAINED.set(nothing if relay.retained_bytes is None else relay.retained_bytes)
    metrics.UNPUBLISHED.set(nothing if relay.unpublished is None else relay.unpublished)
    metrics.UNPUBLISHED_AGE.set(nothing if relay.unpublished is None else _age(relay))


def _age(relay: Relay) -> float:
    return relay.age(datetime.now(UTC))


def _complain(relay: Relay, service: str) -> None:
    if relay.broken:
        LOG.error(
            "the relay has lost its place in the outbox: rows may be unpublished",
            slot=relay.slot,
            state=relay.state,
            remedy=f"orderctl cdc recover {service}",
        )
        return
    LOG.warning(
        "nobody reads the outbox",
        slot=relay.slot,
        state=relay.state,
        lag_bytes=relay.lag_bytes,
        unpublished=relay.unpublished,
        oldest_seconds=round(_age(relay)),
        remedy="orderctl cdc shows why",
    )
