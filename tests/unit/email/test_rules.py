"""The rules of email: one message for each ending of an order, whatever comes and how often."""

import pytest

from services.email.domain import (
    FAILED,
    IGNORED,
    KINDS,
    QUEUED,
    SENT,
    TRANSITIONS,
    Mailing,
    Message,
    message_id,
)
from services.email.handlers import HANDLERS
from services.eventkit.decision import APPLIED, Emit, NewJob
from tests.unit.email.inputs import INPUTS, SALE, after, again
from tests.unit.ruleset import ORDER, Ruleset, sequences

PAIRS = [(first, second) for first in INPUTS for second in INPUTS]


def messages(rules: Ruleset) -> dict[str, tuple[str, str]]:
    """Status and reason of the order's messages by kind."""
    mailing = rules.states.get(ORDER)
    if mailing is None:
        return {}
    return {message.kind: (message.status, message.reason) for message in mailing.messages}


def test_a_confirmed_order_is_mailed() -> None:
    rules = after("confirmed")
    assert messages(rules) == {"confirmed": (QUEUED, "")}
    assert rules.jobs == [(ORDER, NewJob("mail_confirmed", {**SALE, "reason": ""}))]
    assert rules.emitted == []


def test_a_cancelled_order_is_mailed_with_the_reason() -> None:
    rules = after("cancelled")
    assert messages(rules) == {"cancelled": (QUEUED, "")}
    assert rules.jobs == [(ORDER, NewJob("mail_cancelled", {**SALE, "reason": "out_of_stock"}))]


@pytest.mark.parametrize("kind", KINDS)
def test_a_mail_that_was_taken_is_sent(kind: str) -> None:
    rules = after(kind, f"{kind} sent")
    assert messages(rules) == {kind: (SENT, "")}
    assert rules.emitted == [(ORDER, Emit("EmailSent", {"kind": kind}))]
    assert rules.states[ORDER].version == 1


@pytest.mark.parametrize(
    ("kind", "reason"), [("confirmed", "unknown_contact"), ("cancelled", "smtp_550")]
)
def test_a_mail_that_was_refused_has_failed(kind: str, reason: str) -> None:
    rules = after(kind, f"{kind} failed")
    assert messages(rules) == {kind: (FAILED, reason)}
    assert rules.emitted == [(ORDER, Emit("EmailFailed", {"kind": kind, "reason": reason}))]


def test_a_failed_mail_that_was_sent_after_all_is_sent() -> None:
    rules = after("confirmed", "confirmed failed", "confirmed sent")
    assert messages(rules) == {"confirmed": (SENT, "")}
    assert rules.types() == ["EmailFailed", "EmailSent"]
    assert rules.states[ORDER].version == 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("inputs", "why"),
    [
        ([""], "already_queued"),
        (["", " sent"], "already_sent"),
        (["", " failed"], "already_failed"),
    ],
)
def test_an_ending_that_is_repeated_is_mailed_once(kind: str, inputs: list[str], why: str) -> None:
    rules = after(*[f"{kind}{name}" for name in inputs])
    assert rules.give(again(kind)).outcome == f"ignored:{why}"
    assert rules.kinds() == [f"mail_{kind}"]


@pytest.mark.parametrize("name", ["confirmed sent", "confirmed failed", "cancelled sent"])
def test_a_result_without_a_message_is_ignored(name: str) -> None:
    assert after().give(again(name)).outcome == "ignored:no_message"


def test_a_result_of_one_kind_leaves_the_other_alone() -> None:
    rules = after("confirmed", "cancelled", "cancelled failed")
    assert messages(rules) == {"confirmed": (QUEUED, ""), "cancelled": (FAILED, "smtp_550")}


def test_both_endings_are_mailed_in_any_order() -> None:
    one, other = after("confirmed", "cancelled"), after("cancelled", "confirmed")
    assert one.states == other.states
    assert sorted(one.kinds()) == sorted(other.kinds()) == ["mail_cancelled", "mail_confirmed"]


def test_the_message_id_tells_order_and_kind() -> None:
    assert message_id("o-1", "confirmed") == "<o-1.confirmed@order-saga.example>"


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_every_pair_has_a_named_outcome(first: str, second: str) -> None:
    rules = Ruleset(HANDLERS)
    for name in (first, second):
        outcome = rules.give(again(name)).outcome
        assert outcome == APPLIED or outcome.removeprefix("ignored:") in IGNORED.values()


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_a_repeat_of_every_pair_changes_nothing(first: str, second: str) -> None:
    once, twice = after(first, second), after(first, first, second, second)
    assert once.states == twice.states
    assert once.emitted == twice.emitted
    assert once.kinds() == twice.kinds()


def test_no_order_of_inputs_breaks_a_promise() -> None:
    for names in sequences(INPUTS, 4):
        rules = after(*names)
        for kind in KINDS:
            assert rules.kinds().count(f"mail_{kind}") == min(1, names.count(kind))
            sent = [emit for _, emit in rules.emitted if emit == Emit("EmailSent", {"kind": kind})]
            assert len(sent) <= 1
        mailing = rules.states.get(ORDER)
        assert mailing is None or mailing.version == len(rules.emitted)


def test_every_status_says_why_it_ignores() -> None:
    reached = set(TRANSITIONS.values())
    assert set(IGNORED) == {None, *reached} == {None, QUEUED, SENT, FAILED}


def test_a_mailing_finds_its_messages() -> None:
    mailing = Mailing("o-1", "demo", (Message("cancelled", SENT),))
    assert mailing.message("cancelled") == Message("cancelled", SENT)
    assert mailing.message("confirmed") is None
