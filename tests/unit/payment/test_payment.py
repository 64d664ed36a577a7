"""One order's money, input by input: what each leads to, beside its undo."""

import pytest

from services.payment.domain import IGNORED, TRANSITIONS, payment_key
from services.payment.handlers import HANDLERS
from tests.unit.payment.inputs import INPUTS, TOLD, after, again, refund_failed
from tests.unit.ruleset import ORDER, Ruleset, event, sequences

MONEY = {"payment_id": payment_key(ORDER), "amount": 4200, "currency": "EUR"}


def status(rules: Ruleset) -> str:
    found: str = rules.states[ORDER].status
    return found


def test_held_stock_is_charged() -> None:
    rules = after("reserved")
    assert status(rules) == "pending"
    assert [(job.kind, dict(job.args)) for _, job in rules.jobs] == [
        ("charge", {"amount": 4200, "currency": "EUR", "token": "tok_ok"})
    ]
    assert rules.types() == []


def test_a_capture_is_told_with_the_whole_amount() -> None:
    rules = after("reserved", "captured")
    assert status(rules) == "captured"
    assert rules.states[ORDER].captured == 4200
    assert [(emit.type, emit.data) for _, emit in rules.emitted] == [("PaymentCaptured", MONEY)]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("declined", "card_expired"),
        ("charge voided", "voided"),
        ("charge refused", "unknown_currency"),
    ],
)
def test_a_charge_that_takes_no_money_is_a_decline_with_its_reason(
    answer: str, reason: str
) -> None:
    rules = after("reserved", answer)
    assert status(rules) == "declined"
    assert rules.states[ORDER].captured == 0
    assert [(emit.type, emit.data) for _, emit in rules.emitted] == [
        ("PaymentDeclined", {**MONEY, "reason": reason})
    ]


def test_a_cancel_after_the_capture_refunds_all_of_it() -> None:
    rules = after("reserved", "captured", "cancelled")
    assert status(rules) == "refunding"
    assert rules.kinds()[-1] == "refund"
    assert rules.jobs[-1][1].args == {"amount": 4200, "key": f"refund:{ORDER}"}
    rules.give(again("refunded"))
    assert status(rules) == "refunded"
    assert rules.states[ORDER].refunded == 4200
    assert [(emit.type, emit.data) for _, emit in rules.emitted][-1] == ("PaymentRefunded", MONEY)


def test_c12_a_cancel_while_charging_voids_the_charge_and_drops_it_where_it_waits() -> None:
    rules = after("reserved", "cancelled")
    assert status(rules) == "voiding"
    assert rules.kinds() == ["void"]
    rules.give(again("voided"))
    assert status(rules) == "voided"
    assert rules.types() == []


@pytest.mark.parametrize("found", ["void captured", "captured"])
def test_c09_a_capture_after_the_cancel_is_told_and_refunded(found: str) -> None:
    rules = after("reserved", "cancelled")
    assert rules.give(again(found)).outcome == "refund_due"
    assert status(rules) == "refunding"
    assert rules.kinds() == ["refund"]
    rules.give(again("refunded"))
    assert rules.types() == ["PaymentCaptured", "PaymentRefunded"]
    assert rules.states[ORDER].captured == rules.states[ORDER].refunded == 4200


@pytest.mark.parametrize("late", ["voided", "declined"])
def test_a_capture_reported_after_all_seemed_over_is_refunded(late: str) -> None:
    rules = after("reserved", *(["declined"] if late == "declined" else ["cancelled", "voided"]))
    assert rules.give(again("captured")).outcome == "refund_due"
    rules.give(again("refunded"))
    assert rules.states[ORDER].captured == rules.states[ORDER].refunded == 4200


def test_c10_a_late_capture_revives_nothing() -> None:
    rules = after("reserved", "captured", "cancelled", "refunded")
    before = rules.states[ORDER]
    jobs = list(rules.jobs)
    for name in ("captured", "captured", "reserved", "cancelled", "refunded"):
        assert rules.give(again(name)).outcome == "ignored:already_refunded"
    assert (rules.states[ORDER], rules.jobs) == (before, jobs)
    assert rules.types() == ["PaymentCaptured", "PaymentRefunded"]


def test_c06_a_cancel_before_the_reservation_leaves_a_tombstone() -> None:
    rules = after("cancelled")
    assert status(rules) == "cancelled"
    assert rules.give(again("reserved")).outcome == "ignored:order_cancelled"
    assert rules.give(again("cancelled")).outcome == "ignored:order_cancelled"
    assert (rules.jobs, rules.emitted) == ([], [])


def test_a_declined_payment_has_nothing_to_undo() -> None:
    rules = after("reserved", "declined")
    assert rules.give(again("cancelled")).outcome == "ignored:already_declined"
    assert rules.kinds() == ["charge"]


def test_c14_a_refund_that_fails_for_good_is_said_aloud_and_can_be_tried_again() -> None:
    rules = after("reserved", "captured", "cancelled", "refund failed")
    assert status(rules) == "refund_failed"
    assert [(emit.type, emit.data) for _, emit in rules.emitted][-1] == (
        "RefundFailed",
        {**MONEY, "reason": "refund_refused"},
    )
    rules.give(again("retry"))
    assert rules.kinds()[-1] == "refund"
    rules.give(again("refunded"))
    assert status(rules) == "refunded"
    assert rules.states[ORDER].reason == ""
    assert rules.types() == ["PaymentCaptured", "RefundFailed", "PaymentRefunded"]
    assert rules.states[ORDER].version == 3


@pytest.mark.parametrize(
    ("reason", "key"),
    [("refund_refused", f"refund:{ORDER}:1"), ("attempts_exhausted", f"refund:{ORDER}")],
)
def test_only_a_refund_that_was_refused_is_asked_for_under_another_key(
    reason: str, key: str
) -> None:
    rules = after("reserved", "captured", "cancelled")
    rules.give(refund_failed(reason))
    rules.give(again("retry"))
    assert rules.jobs[-1][1].args["key"] == key


def test_an_earlier_refund_that_is_refused_again_says_nothing_about_the_present_one() -> None:
    rules = after("reserved", "captured", "cancelled", "refund failed", "retry")
    assert rules.give(again("refund failed")).outcome == "ignored:earlier_refund"
    assert status(rules) == "refunding"
    rules.give(refund_failed("attempts_exhausted", key=rules.jobs[-1][1].args["key"]))
    rules.give(again("retry"))
    assert [job.args["key"] for _, job in rules.jobs[-2:]] == [f"refund:{ORDER}:1"] * 2


def test_c15_a_repeated_reservation_charges_once() -> None:
    rules = after("reserved", "reserved", "captured", "reserved")
    assert rules.kinds() == ["charge"]
    assert rules.types() == ["PaymentCaptured"]


@pytest.mark.parametrize("amount", [0, -1])
def test_an_amount_that_cannot_be_charged_is_refused(amount: int) -> None:
    rules = Ruleset(HANDLERS)
    data = {"amount": amount, "currency": "EUR", "payment_token": "tok_ok"}
    with pytest.raises(ValueError, match="cannot charge"):
        rules.give(event("StockReserved", data))


def test_any_order_and_number_of_inputs_keeps_the_money_straight() -> None:
    for names in sequences(INPUTS, length=4):
        rules = Ruleset(HANDLERS)
        for name in names:
            rules.give(again(name))
            payment = rules.states.get(ORDER)
            if payment is not None:
                assert 0 <= payment.refunded <= payment.captured <= payment.amount, names
                assert payment.captured in (0, payment.amount), names
                assert payment.refunded in (0, payment.captured), names
                assert payment.version == len(rules.emitted), names
        for once in ("PaymentCaptured", "PaymentDeclined", "PaymentRefunded"):
            assert rules.types().count(once) <= 1, names


def test_every_status_has_a_word_for_what_does_not_apply() -> None:
    statuses = {None, *TRANSITIONS.values()}
    assert set(IGNORED) == statuses


@pytest.mark.parametrize(
    "names",
    [
        ("captured by word",),
        ("captured by word", "captured"),
        ("captured", "captured by word"),
        ("captured by word", "captured by word", "captured"),
    ],
)
def test_c25_a_capture_that_the_provider_tells_counts_once(
    names: tuple[str, ...],
) -> None:
    rules = after("reserved", *names)
    assert (status(rules), rules.types()) == ("captured", ["PaymentCaptured"])
    assert rules.states[ORDER].captured == 4200


def test_c25_a_word_ends_the_asking_and_one_about_no_payment_does_nothing() -> None:
    rules = after("reserved")
    assert rules.give(again("told")).jobs[0].kind == "confirmation"
    assert rules.give(again("captured by word")).cancel_jobs == ("charge",)
    assert after().give(again("told")).outcome == "ignored:no_payment"


def test_c25_a_word_about_another_amount_is_not_believed() -> None:
    rules = after("reserved")
    told = {**TOLD, "amount": 1}
    decision = rules.give(event("confirmation.succeeded", {"asked": told}))
    assert (decision.outcome, status(rules)) == ("ignored:other_amount", "pending")


def test_c25_a_decline_is_told_once_and_a_capture_after_it_is_refunded() -> None:
    rules = after("reserved", "declined by word", "declined")
    assert (status(rules), rules.types()) == ("declined", ["PaymentDeclined"])
    assert rules.give(again("captured by word")).outcome == "refund_due"


def test_c25_a_word_after_the_cancel_is_refunded() -> None:
    rules = after("reserved", "cancelled")
    assert rules.give(again("captured by word")).outcome == "refund_due"
    assert (status(rules), rules.jobs[-1][1].kind) == ("refunding", "refund")
