from collections import Counter

import pytest

from services.orderctl.errors import CliError
from services.orderctl.mix import DEFAULT_MIX, KINDS, REFUND_FAILS, deal, parse_mix


def test_a_mix_is_read_as_weights() -> None:
    assert parse_mix("confirmed=80, payment_declined=20") == {
        "confirmed": 80,
        "payment_declined": 20,
    }


def test_the_default_mix_has_every_kind_that_settles_by_itself() -> None:
    assert set(parse_mix(DEFAULT_MIX)) == set(KINDS) - {REFUND_FAILS}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nice=1",
        "confirmed",
        "confirmed=x",
        "confirmed=-1",
        "confirmed=0",
        "confirmed=1,confirmed=2",
    ],
)
def test_a_wrong_mix_is_refused_by_name(text: str) -> None:
    with pytest.raises(CliError, match="--mix"):
        parse_mix(text)


def test_every_full_round_holds_exactly_the_shares() -> None:
    dealer = deal({"confirmed": 3, "out_of_stock": 1, "payment_timeout": 0}, seed=1)
    for _ in range(3):
        dealt = Counter(dealer.next().name for _ in range(4))
        assert dealt == {"confirmed": 3, "out_of_stock": 1}


def test_the_same_seed_deals_the_same_sequence() -> None:
    weights = parse_mix(DEFAULT_MIX)
    first, second = deal(weights, seed=7), deal(weights, seed=7)
    assert [first.next() for _ in range(150)] == [second.next() for _ in range(150)]
