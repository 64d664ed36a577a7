"""One batch, one transaction: what is applied, refused, put aside and parked."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError, ProgrammingError

from services.eventkit.batch import BatchHandler
from services.eventkit.records import RawRecord
from tests.integration.eventkit.toy import (
    CODEC,
    CounterStore,
    make_engine,
    record,
    without_counters,
)


def handle(database: sa.Engine, *records: RawRecord) -> bool:
    """Handles one batch; True where it planned jobs."""
    return BatchHandler(database, make_engine(), "analytics").handle(records)


def rows(database: sa.Engine, query: str) -> Sequence[Any]:
    """The rows of a query, as tuples."""
    with database.connect() as conn:
        return [tuple(row) for row in conn.exec_driver_sql(query)]


def counts(database: sa.Engine) -> dict[str, int]:
    """How often each key was counted."""
    return dict(rows(database, "SELECT key, count FROM counters"))


def test_a_batch_writes_states_outbox_and_inbox_together(database: sa.Engine) -> None:
    handle(database, record("a"), record("a"), record("b"))
    assert counts(database) == {"a": 2, "b": 1}
    sent = rows(database, "SELECT aggregate_id, sequence, event_type FROM outbox ORDER BY seq")
    assert sent == [("a", 1, "ReportReady"), ("a", 2, "ReportReady"), ("b", 1, "ReportReady")]
    assert rows(database, "SELECT count(*) FROM inbox WHERE status = 'done'") == [(3,)]


def test_an_outbox_row_is_what_consumers_read(database: sa.Engine) -> None:
    cause = uuid4()
    handle(database, record("a", message_id=cause))
    ((payload, causation, source, tenant),) = rows(
        database, "SELECT payload, causation_id, source, tenant_id FROM outbox"
    )
    assert CODEC.decode("ReportReady", payload) == {"report_id": "a"}
    assert (causation, source, tenant) == (str(cause), "/services/analytics", "demo")


def test_a_repeat_has_no_second_effect(database: sa.Engine) -> None:
    repeated = record("a")
    handle(database, repeated, repeated)
    handle(database, replace(repeated, offset=7))
    assert counts(database) == {"a": 1}
    assert rows(database, "SELECT count(*) FROM outbox") == [(1,)]


def test_an_ignored_event_changes_nothing_but_is_remembered(database: sa.Engine) -> None:
    handle(database, record("a", "ignore"))
    assert counts(database) == {}
    assert rows(database, "SELECT count(*) FROM inbox") == [(1,)]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("raise", "rule"),
        ("misspelt", "encoding"),
        ("broken_promise", "rule"),
        ("too_many", "constraint"),
        ("nul", "constraint"),
        ("too_big", "constraint"),
    ],
)
def test_a_failing_event_is_put_aside_and_blocks_only_its_key(
    database: sa.Engine, kind: str, reason: str
) -> None:
    bad = record("a", kind, offset=1)
    handle(database, record("a"), bad, record("a", offset=2), record("b"))
    assert counts(database) == {"a": 1, "b": 1}
    letters = rows(database, 'SELECT "offset", status, reason FROM dead_letters ORDER BY "offset"')
    assert letters == [(1, "dead", reason), (2, "parked", "parked")]
    mirrored = rows(database, "SELECT payload FROM outbox WHERE topic = 'analytics.dlq'")
    letter = CODEC.decode("DeadLetter", mirrored[0][0])
    assert (letter["value"], letter["reason"], letter["offset"]) == (bad.value, reason, 1)


def test_later_batches_are_parked_behind_the_letter(database: sa.Engine) -> None:
    handle(database, record("a", "raise"))
    handle(database, record("a", offset=5), record("b"))
    assert counts(database) == {"b": 1}
    assert rows(database, "SELECT status FROM inbox WHERE key = 'a' ORDER BY 1") == [
        ("dead",),
        ("parked",),
    ]


def test_c30_poison_is_kept_byte_for_byte_and_blocks_nothing(database: sa.Engine) -> None:
    poison = replace(record("a"), value=b"abcd", offset=3)
    handle(database, poison, record("a", offset=4))
    handle(database, poison)
    assert counts(database) == {"a": 1}
    letters = rows(database, "SELECT key, reason, record_value FROM dead_letters")
    assert letters == [(None, "not_avro", b"abcd")]


@pytest.mark.parametrize(
    ("name", "value"),
    [("ce_tenantid", b"de\x00mo"), ("ce_subject", bytes(range(33, 127)) * 50)],
    ids=["a NUL", "too long"],
)
def test_c30_an_envelope_that_the_database_cannot_hold_stops_nothing(
    database: sa.Engine, name: str, value: bytes
) -> None:
    good = record("a")
    headers = [(n, value if n == name else v) for n, v in good.headers]
    key = value if name == "ce_subject" else good.key
    handle(database, replace(good, headers=headers, key=key), record("a", offset=1))
    assert counts(database) == {"a": 1}
    assert rows(database, "SELECT key, reason FROM dead_letters") == [(None, "envelope")]


def test_an_event_that_nobody_handles_is_skipped_before_decoding(database: sa.Engine) -> None:
    headers = [("ce_type", b"SomethingElse")]
    handle(database, replace(record("a"), headers=headers, value=b"anything"))
    assert rows(database, "SELECT count(*) FROM inbox") == [(0,)]


def test_a_lost_connection_leaves_nothing_and_a_rerun_says_the_same(database: sa.Engine) -> None:
    store = CounterStore()
    store.break_once = True
    handler = BatchHandler(database, make_engine(store), "analytics")
    batch = [record("a"), record("b")]
    with pytest.raises(OperationalError):
        handler.handle(batch)
    assert rows(database, "SELECT count(*) FROM inbox") == [(0,)]
    handler.handle(batch)
    first = rows(database, "SELECT message_id FROM outbox ORDER BY 1")
    with database.begin() as conn:
        for table in ("inbox", "outbox", "counters"):
            conn.exec_driver_sql(f"DELETE FROM {table}")
    handler.handle(batch)
    assert rows(database, "SELECT message_id FROM outbox ORDER BY 1") == first


def test_a_statement_that_is_refused_puts_nothing_aside(database: sa.Engine) -> None:
    batch = [record("a"), record("b")]
    with without_counters(database), pytest.raises(ProgrammingError):
        handle(database, *batch)
    assert rows(database, "SELECT count(*) FROM inbox") == [(0,)]
    assert rows(database, "SELECT count(*) FROM dead_letters") == [(0,)]
    handle(database, *batch)
    assert counts(database) == {"a": 1, "b": 1}


def test_two_members_with_the_same_events_have_one_effect(database: sa.Engine) -> None:
    batch = [record(f"key-{n % 7}", offset=n) for n in range(100)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda part: handle(database, *part), [batch, batch[::-1]]))
    assert sum(counts(database).values()) == 100
    assert rows(database, "SELECT count(*) FROM outbox") == [(100,)]


@pytest.mark.parametrize(
    "statement", ["UPDATE outbox SET payload = ''", "TRUNCATE outbox", "UPDATE outbox SET seq = 1"]
)
def test_c44_a_published_fact_cannot_be_changed(database: sa.Engine, statement: str) -> None:
    handle(database, record("a"))
    with pytest.raises(sa.exc.DBAPIError), database.begin() as conn:
        conn.exec_driver_sql(statement)
