"""Redrive: the order of a key is kept, every decision is recorded, and nothing loops for ever."""

from dataclasses import replace
from uuid import UUID

import pytest
import sqlalchemy as sa

from services.eventkit import dead_letters
from services.eventkit.batch import BatchHandler
from services.eventkit.codec import Codec
from services.eventkit.decision import Decision, Event, Facts, On, handlers
from services.eventkit.engine import Engine
from services.eventkit.records import RawRecord
from services.eventkit.redrive import Decider, NoSuchLetter, Redrive
from services.eventkit.schemas import Schemas
from tests.integration.eventkit import toy
from tests.integration.eventkit.test_batch import counts, handle, rows
from tests.integration.eventkit.toy import TOPIC, Counter, CounterStore, make_engine, record

ANNA = Decider("anna", "the rule was mended")


def mended() -> Engine[Counter]:
    """The toy after its rule was mended: ``raise`` counts like anything else."""

    def count(state: Counter | None, event: Event, facts: Facts) -> Decision[Counter]:
        return toy.count(state, replace(event, data={"kind": "ok"}), facts)

    table = handlers(On("EmailSent", TOPIC, count, ("ReportReady",), ("call",)))
    return Engine("analytics", table, CounterStore(), toy.CODEC, "analytics.events")


def letters(database: sa.Engine) -> list[tuple[str, int]]:
    """Status and attempts of all letters, in order."""
    found = rows(database, "SELECT status, attempts FROM dead_letters ORDER BY seq")
    return [tuple(row) for row in found]


def fail(database: sa.Engine, *records: RawRecord) -> UUID:
    """Handles a failing event of key ``a``, then others; returns the id of the letter."""
    handle(database, record("a", "raise"), *records)
    return UUID(str(rows(database, "SELECT message_id FROM dead_letters ORDER BY seq")[0][0]))


def test_a_mended_rule_runs_the_letter_and_what_was_parked_in_order(database: sa.Engine) -> None:
    fail(database, record("a"), record("b"))
    handle(database, record("a"))
    results = Redrive(database, mended()).key("a", ANNA)
    assert [result.outcome for result in results] == ["applied"] * 3
    assert counts(database) == {"a": 3, "b": 1}
    assert rows(database, "SELECT DISTINCT status FROM inbox") == [("done",)]
    sequences = rows(
        database,
        "SELECT sequence FROM outbox WHERE topic = 'analytics.events' AND aggregate_id = 'a' "
        "ORDER BY seq",
    )
    assert sequences == [(1,), (2,), (3,)]


def test_a_key_that_was_redriven_is_open_again(database: sa.Engine) -> None:
    fail(database)
    Redrive(database, mended()).everything(ANNA)
    handle(database, record("a"))
    assert counts(database) == {"a": 2}


def test_a_redrive_that_fails_updates_its_letter_and_leaves_the_parked(
    database: sa.Engine,
) -> None:
    letter = fail(database, record("a"))
    results = Redrive(database, make_engine()).one(letter, ANNA)
    assert [result.outcome for result in results] == ["dead:rule", "parked"]
    assert letters(database) == [("dead", 2), ("parked", 0)]


def test_c31_a_letter_keeps_its_record_and_is_quarantined_after_its_limit(
    database: sa.Engine,
) -> None:
    letter = fail(database)
    first = Redrive(database, make_engine()).letter(letter)
    for _ in range(5):
        Redrive(database, make_engine()).key("a", ANNA)
    last = Redrive(database, make_engine()).letter(letter)
    assert (last.record, last.first_error) == (first.record, first.first_error)
    assert (last.status, last.attempts) == ("quarantined", 6)
    assert Redrive(database, mended()).everything(ANNA) == []
    mirrored = rows(database, "SELECT payload FROM outbox WHERE topic = 'analytics.dlq'")
    sizes = [len(toy.CODEC.decode("DeadLetter", payload)["headers"]) for (payload,) in mirrored]
    assert len(sizes) == 6
    assert len(set(sizes)) == 1
    (result,) = Redrive(database, mended()).key("a", ANNA)
    assert result.outcome == "applied"


def test_a_later_letter_of_the_key_becomes_the_one_that_blocks(database: sa.Engine) -> None:
    fail(database, record("a", "too_many"), record("a"))
    results = Redrive(
        database,
        Engine(
            "analytics",
            handlers(On("EmailSent", TOPIC, _tolerant, ("ReportReady",), ("call",))),
            CounterStore(),
            toy.CODEC,
            "analytics.events",
        ),
    ).key("a", ANNA)
    assert [result.outcome for result in results] == ["applied", "dead:constraint", "parked"]
    assert letters(database) == [("redriven", 2), ("dead", 1), ("parked", 0)]


def test_a_discarded_letter_lets_the_parked_go_on(database: sa.Engine) -> None:
    letter = fail(database, record("a"))
    results = Redrive(database, make_engine()).discard(letter, Decider("anna", "a test event"))
    assert [result.outcome for result in results] == ["discarded", "applied"]
    assert counts(database) == {"a": 1}
    made = rows(database, "SELECT made_by, action, why, outcome FROM decisions ORDER BY id")
    assert made == [
        ("anna", "discard", "a test event", "discarded"),
        ("anna", "discard", "a test event", "applied"),
    ]


def test_bytes_that_can_be_read_now_find_their_key(database: sa.Engine) -> None:
    unknown = replace(record("a"), value=b"\x00\x00\x00\x63\xff" + _body())
    handle(database, unknown)
    assert letters(database) == [("dead", 1)]
    knowing = Codec(Schemas.load(), writer_schemas={0x63FF: _email_sent()})
    engine = Engine("analytics", toy.HANDLERS, CounterStore(), knowing, "analytics.events")
    (result,) = Redrive(database, engine).everything(ANNA)
    assert result.outcome == "applied"
    assert counts(database) == {"a": 1}


def test_a_letter_that_is_not_open_cannot_be_decided_again(database: sa.Engine) -> None:
    letter = fail(database)
    Redrive(database, mended()).key("a", ANNA)
    with pytest.raises(NoSuchLetter):
        Redrive(database, mended()).key("a", ANNA)
    with pytest.raises(NoSuchLetter):
        Redrive(database, mended()).discard(letter, ANNA)


def test_a_crash_in_a_redrive_leaves_everything_as_it_was(database: sa.Engine) -> None:
    fail(database, record("a"))
    engine = mended()
    engine.store.break_once = True  # type: ignore[attr-defined]
    with pytest.raises(sa.exc.OperationalError):
        Redrive(database, engine).key("a", ANNA)
    assert letters(database) == [("dead", 1), ("parked", 0)]
    assert counts(database) == {}


def test_blocked_keys_are_those_with_open_letters(database: sa.Engine) -> None:
    fail(database, record("b"))
    with database.connect() as conn:
        assert dead_letters.blocked_keys(conn, ["a", "b"]) == {"a"}
    assert BatchHandler(database, make_engine(), "analytics").handle([record("a")]) is False


def _tolerant(state: Counter | None, event: Event, facts: Facts) -> Decision[Counter]:
    if event.data["kind"] == "raise":
        event = replace(event, data={"kind": "ok"})
    return toy.count(state, event, facts)


def _body() -> bytes:
    return toy.CODEC.encode("EmailSent", {"kind": "ok"})[5:]


def _email_sent() -> object:
    return Schemas.load()["EmailSent"].parsed
