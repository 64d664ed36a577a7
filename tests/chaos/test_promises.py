"""What counts as lost, doubled and stuck."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from services.orderctl.verify.checks import CHECKS
from services.orderctl.verify.data import Mail, Message, Order, Snapshot
from services.orderctl.verify.finding import finding
from services.orderctl.verify.run import Result
from tests.chaos import promises
from tests.chaos.promises import Known

NOW = datetime(2026, 1, 31, tzinfo=UTC)
ORDER = Order("o-1", "cancelled", "out_of_stock", "EUR", 900, None, NOW)
QUIET = Snapshot(
    now=NOW,
    kept_since=NOW - timedelta(days=7),
    orders={"o-1": ORDER},
    messages=[Message("o-1", "cancelled", "sent")],
    mails=[Mail("o-1", "<o-1.cancelled>")],
)
TOLD = Known(frozenset({"o-1"}), ())


def problems(snapshot: Snapshot, known: Known = TOLD) -> set[str]:
    """The names of the checks that fail; readers know nothing here, so theirs always do."""
    results = promises.check_all(snapshot, None, known)
    return {r.name for r in results if not r.finding.ok} - {"read_model_agrees", "analytics_agrees"}


def test_every_check_counts_as_something() -> None:
    verifys = {check.name for check in CHECKS} - {promises.COUNTS_COPIES} | {"quiet"}
    assert verifys <= promises.BROKEN_BY.keys()
    assert [r.name for r in promises.check_all(QUIET, None, TOLD)] == list(promises.BROKEN_BY)


def test_all_is_well() -> None:
    assert problems(QUIET) == set()


def test_an_accepted_order_that_is_gone_is_lost() -> None:
    assert problems(QUIET, Known(frozenset({"o-1", "o-2"}), ())) == {"accepted_kept"}


def test_an_order_that_nobody_was_told_of_is_doubled() -> None:
    assert problems(QUIET, Known(frozenset(), ())) == {"placed_once"}


def test_a_request_without_an_answer_is_stuck() -> None:
    assert problems(QUIET, replace(TOLD, unanswered=("POST: no answer",))) == {"answered"}


def test_a_mail_that_came_again_under_its_id_is_counted_and_allowed() -> None:
    again = replace(QUIET, mails=[*QUIET.mails, *QUIET.mails])
    assert problems(again) == set()
    assert promises.mail_copies(again) == 1


def test_a_second_mail_under_another_id_is_doubled() -> None:
    second = replace(QUIET, mails=[*QUIET.mails, Mail("o-1", "<other>")])
    assert problems(second) == {"mailed_once"}


def test_a_mail_that_never_arrived_is_lost() -> None:
    assert problems(replace(QUIET, mails=[])) == {"mails_arrived"}


@pytest.mark.parametrize(
    ("check", "promise"),
    [("accepted_kept", "lost"), ("provider_agrees", "doubled"), ("quiet", "stuck")],
)
def test_problems_are_added_up(check: str, promise: str) -> None:
    found = finding(1, ["one", "two"])
    counts = promises.broken([Result(check, "", found)])
    assert counts == dict.fromkeys(("lost", "doubled", "stuck", "dead letters"), 0) | {promise: 2}
