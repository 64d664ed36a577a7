"""Which outbox rows are on no topic: what a lost replication slot has passed over."""

import time
from collections.abc import Sequence
from uuid import UUID

import sqlalchemy as sa

from services.eventkit.relay import slot_of
from services.orderctl.kafka import read_all
from services.orderctl.reemit import rows
from services.orderctl.settings import Settings
from services.orderctl.verify.databases import reading

PATIENCE = 15.0
_PLACE = sa.text("SELECT pg_current_wal_insert_lsn()::text")
_READ = sa.text("""
SELECT active AND confirmed_flush_lsn >= CAST(:place AS pg_lsn)
FROM pg_replication_slots WHERE slot_name = :slot""")


def never_published(settings: Settings, service: str, key: str | None = None) -> list[UUID]:
    """The ids of rows that are not on their topic, in the order in which they were written.

    A relay that works is first given time to publish what is there, so that nothing is sent twice
    that was only on its way. Then the topics are read once, from beginning to end.
    """
    with reading(settings, service) as conn:
        found = rows.ids(conn, key)
        place = str(conn.execute(_PLACE).scalar_one())
    if not found:
        return []
    _wait_for_relay(settings, service, place)
    seen = _seen(settings.kafka_bootstrap, sorted({topic for _, topic in found}))
    return [message_id for message_id, _ in found if str(message_id) not in seen]


def _wait_for_relay(settings: Settings, service: str, place: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with reading(settings, service) as conn:
            query = {"place": place, "slot": slot_of(service)}
            has_read = conn.execute(_READ, query).scalar_one_or_none()
        if has_read is not False:
            return  # read already, or there is no slot that ever will
        time.sleep(0.5)


def _seen(bootstrap: str, topics: Sequence[str]) -> set[str]:
    return {record.headers.get("ce_id", "") for record in read_all(bootstrap, topics)}
