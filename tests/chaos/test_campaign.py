"""Campaigns: a short one for every test run, a long one for the night."""

import pytest

from tests.chaos.campaign import MOST_SECONDS, Campaign
from tests.chaos.own_stack import own_stack
from tests.chaos.page import page
from tests.chaos.verdict import Options, Verdict

# In a minute and a half: kills of order, inventory, payment, email, the agent, the broker and
# PostgreSQL, one connection cut and one silenced.
SHORT = Options(seed=2951, minutes=1.5, rate=3)
LONG = Options(seed=4, minutes=15, rate=3)


def run(options: Options) -> Verdict:
    """The verdict of a campaign on a fresh stack, printed for whoever reads the test's output."""
    with own_stack() as stack:
        verdict = Campaign(stack, options, tell=print, show=lambda _: None).run()
    print(page(verdict, MOST_SECONDS))
    return verdict


@pytest.mark.timeout(1200)
def test_kill_anything_for_a_moment() -> None:
    verdict = run(SHORT)
    assert verdict.held
    assert verdict.kinds["kill"] >= 5
    assert verdict.orders >= SHORT.minutes * 60 * SHORT.rate * 0.9


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_kill_anything_for_a_quarter_of_an_hour() -> None:
    verdict = run(LONG)
    assert verdict.held
    assert verdict.kinds["kill"] >= 60
    assert {"cut", "delay", "silence"} <= verdict.kinds.keys()
