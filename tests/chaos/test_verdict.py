"""The verdict and its page."""

import json
from datetime import UTC, datetime

from services.orderctl.verify.finding import finding
from services.orderctl.verify.run import Result
from tests.chaos.page import page
from tests.chaos.recovery import Recovery
from tests.chaos.schedule import Action
from tests.chaos.verdict import Options, Verdict

GOOD = Result("orders_ended", "every order has ended", finding(2, ()))
BAD = Result("money_kept", "money adds up", finding(2, ["o-1: 900 EUR kept, 0 due"]))
RECOVERED = (
    Recovery(Action(5, "kill", "order"), since=100.0, ready_at=104.0, confirmed_at=106.0),
    Recovery(Action(13, "kill", "order"), since=120.0, ready_at=122.0, confirmed_at=121.0),
    Recovery(Action(21, "cut", "kafka", 4), since=140.0, ready_at=141.0, confirmed_at=175.5),
)


def verdict(*results: Result, recoveries: tuple[Recovery, ...] = RECOVERED) -> Verdict:
    """Of a small campaign."""
    return Verdict(
        options=Options(seed=9, minutes=1.5, rate=3),
        began=datetime(2026, 1, 31, 12, 0, tzinfo=UTC),
        seconds=90.0,
        machine="a machine",
        orders=270,
        posts_without_answer={"503": 4},
        endings={"confirmed": 200, "cancelled:out_of_stock": 70},
        ended_median=1.5,
        recoveries=recoveries,
        mail_copies=2,
        results=results,
    )


def test_recovery_is_from_the_disturbance_to_the_later_of_ready_and_confirmed() -> None:
    assert [recovery.seconds for recovery in RECOVERED] == [6.0, 2.0, 35.5]


def test_the_page_says_all_on_one_screen() -> None:
    text = page(verdict(GOOD), slow_after=30)
    assert text.startswith("# Chaos, seed 9: held\n")
    assert "lost **0**  doubled **0**  stuck **0**  dead letters **0**" in text
    assert "`make chaos SEED=9 MINUTES=1.5 RATE=3`" in text
    assert "| order | 2 |  |  |  |  |  |  | 4.0 s | 6.0 s |  |" in text
    assert "| connection to kafka |  |  |  |  | 1 |  |  | 35.5 s | 35.5 s | 1 |" in text
    assert len(text.splitlines()) < 40


def test_a_broken_promise_is_named() -> None:
    broken = verdict(GOOD, BAD)
    assert not broken.held
    assert "doubled **1**" in page(broken, 30)
    assert "- money_kept: o-1: 900 EUR kept, 0 due" in page(broken, 30)


def test_what_never_recovers_breaks_the_promise() -> None:
    never = Recovery(Action(5, "stop", "email", 3), since=100.0, ready_at=101.0)
    stuck = verdict(GOOD, recoveries=(never,))
    assert not stuck.held
    assert "- never recovered from: stop email for 3 s" in page(stuck, 30)


def test_json_has_each_action_and_each_check() -> None:
    data = json.loads(json.dumps(verdict(GOOD, BAD).as_json()))
    assert data["held"] is False
    assert data["broken"] == {"lost": 0, "doubled": 1, "stuck": 0, "dead letters": 0}
    assert [action["recovery_seconds"] for action in data["actions"]] == [6.0, 2.0, 35.5]
    assert [check["check"] for check in data["checks"]] == ["orders_ended", "money_kept"]
