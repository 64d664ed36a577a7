import pytest

from services.orderctl.commands.load import make_plan
from services.orderctl.errors import CliError
from services.orderctl.load.observer import Ending
from services.orderctl.load.orders import NEVER_STOCKED, order_body
from services.orderctl.load.report import build
from services.orderctl.load.runner import Placed, Run
from services.orderctl.mix import CONFIRMED, KINDS, OUT_OF_STOCK, PAYMENT_TIMEOUT


def placed(order_id: str, sent_at: float, kind: str = CONFIRMED) -> Placed:
    return Placed(order_id, KINDS[kind], sent_at, sent_at + 0.01)


def run_of(*orders: Placed) -> Run:
    return Run(placed=list(orders))


def test_latency_runs_from_the_post_to_the_ending() -> None:
    run = run_of(placed("a", 100.0), placed("b", 101.0))
    endings = {
        "a": Ending("confirmed", decided_at=100.2, seen_at=100.25),
        "b": Ending("confirmed", decided_at=101.4, seen_at=101.5),
    }
    report = build(run, endings, {"order.events": [50.0, 50.0], "payment.events": [50.0]})
    assert report.confirmed is not None and report.hop is not None
    assert report.confirmed.p50 == pytest.approx(200)
    assert report.confirmed.max == pytest.approx(400)
    assert report.seen["confirmed"].p50 == pytest.approx(250)
    assert report.seconds == pytest.approx(1.5)
    assert report.completed_per_second == pytest.approx(2 / 1.5)
    assert report.ratio("p50") == pytest.approx(200 / 150)
    assert report.ratio("p99") == pytest.approx(400 / 150)


def test_an_order_without_its_ending_or_with_another_one_is_named() -> None:
    run = run_of(placed("a", 1.0), placed("b", 1.0, PAYMENT_TIMEOUT), placed("c", 1.0))
    endings = {
        "b": Ending("confirmed", 2.0, 2.1),
        "c": Ending("confirmed", 2.0, 2.1),
        "of someone else": Ending("confirmed", 2.0, 2.1),
    }
    report = build(run, endings, {})
    assert report.unfinished == ["a"]
    assert report.unexpected == {"b": "confirmed"}
    assert report.endings == {"confirmed": 2}
    assert report.ratio("p50") is None


def test_growing_lag_shows_between_the_first_and_the_last_third() -> None:
    run = run_of(*(placed(str(n), float(n)) for n in range(9)))
    endings = {str(n): Ending("confirmed", n + 0.1 * (n + 1), n + 1.0) for n in range(9)}
    report = build(run, endings, {})
    assert report.first_third_p50 == pytest.approx(200)
    assert report.last_third_p50 == pytest.approx(800)


def test_nothing_placed_gives_an_empty_report() -> None:
    report = build(run_of(), {}, {})
    assert (report.placed, report.seconds, report.completed_per_second) == (0, 0.0, 0.0)
    assert report.as_json()["ratio_to_three_hops"] == {"p50": None, "p99": None}


def test_a_plan_has_a_rate_unless_it_is_as_fast_as_it_goes() -> None:
    assert make_plan(None, False, None, None, 20).rate == 10.0
    assert make_plan(50.0, False, None, 60.0, 20).orders is None
    assert make_plan(None, True, None, None, 20).rate is None
    assert make_plan(None, True, None, None, 20).orders == 200


@pytest.mark.parametrize(("rate", "fastest"), [(5.0, True), (0.0, False), (-1.0, False)])
def test_a_contradictory_plan_is_refused(rate: float, fastest: bool) -> None:
    with pytest.raises(CliError, match="--rate"):
        make_plan(rate, fastest, None, None, 20)


def test_an_order_names_each_sku_once_and_is_short_only_on_purpose() -> None:
    for number in range(400):
        skus = [line["sku"] for line in order_body(KINDS[CONFIRMED], number)["lines"]]
        assert len(skus) == len(set(skus)) and NEVER_STOCKED not in skus
    skus = [line["sku"] for line in order_body(KINDS[OUT_OF_STOCK], 1)["lines"]]
    assert NEVER_STOCKED in skus and len(skus) > 1
