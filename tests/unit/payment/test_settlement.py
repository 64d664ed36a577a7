"""Payment against a provider that answers late: at quiet, the money is where the order says."""

from dataclasses import replace
from uuid import uuid4

from hypothesis import given, settings
from hypothesis import strategies as st

from services.eventkit.decision import Event, NewJob
from services.payment.handlers import HANDLERS
from tests.unit.payment.inputs import INPUTS, refund_failed
from tests.unit.ruleset import ORDER, Ruleset, event


class Provider:
    """One charge under one key, as the provider's ledger has it."""

    def __init__(self, accepts: bool, refunds: bool) -> None:
        self.accepts = accepts
        self.refunds = refunds
        self.charge = ""
        self.paid_back = 0

    def do(self, job: NewJob) -> Event:
        """Make the call of a job and give its result."""
        if job.kind == "refund":
            return self._refund(job)
        if not self.charge:
            found = "voided" if job.kind == "void" else "captured" if self.accepts else "declined"
            self.charge = found
        data = {"status": self.charge, "reason": ""}
        return event(f"{job.kind}.succeeded", data)

    def _refund(self, job: NewJob) -> Event:
        if not self.refunds:
            return refund_failed("refund_refused", job.args["key"])
        self.paid_back = job.args["amount"]
        return event("refund.succeeded", {})


@settings(max_examples=200, deadline=None)
@given(data=st.data(), accepts=st.booleans(), refunds=st.booleans())
def test_at_quiet_a_cancelled_order_keeps_no_money(
    data: st.DataObject, accepts: bool, refunds: bool
) -> None:
    rules, provider = Ruleset(HANDLERS), Provider(accepts, refunds)
    names = data.draw(st.lists(st.sampled_from(["reserved", "cancelled"]), max_size=5))
    waiting = [replace(INPUTS[name], id=uuid4()) for name in names]
    results: list[Event] = []
    while waiting or results or rules.jobs:
        ready = ["event"] * bool(waiting) + ["job"] * bool(rules.jobs) + ["result"] * bool(results)
        turn = data.draw(st.sampled_from(ready))
        if turn == "event":
            rules.give(waiting.pop(0))
        elif turn == "job":
            at = data.draw(st.integers(0, len(rules.jobs) - 1))
            results.append(provider.do(rules.jobs.pop(at)[1]))
        else:
            rules.give(results.pop(data.draw(st.integers(0, len(results) - 1))))
    _check(rules, provider, names)


def _check(rules: Ruleset, provider: Provider, names: list[str]) -> None:
    payment = rules.states.get(ORDER)
    taken = 4200 if provider.charge == "captured" else 0
    if payment is None:
        assert not names
        return
    assert payment.status not in ("pending", "voiding", "refunding")
    assert payment.captured == taken
    assert payment.refunded == provider.paid_back
    if "cancelled" in names and provider.refunds:
        assert taken == provider.paid_back
    if "cancelled" not in names:
        assert payment.status == ("captured" if provider.accepts else "declined")
    if names[0] == "cancelled":
        assert provider.charge == ""
