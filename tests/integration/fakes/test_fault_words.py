"""How tokens and addresses are read: the faults they ask for, alone and joined."""

import pytest

from infra.fakes.mail_sink.faults import Faults, faults_of
from infra.fakes.payment_provider.tokens import (
    CARD_DECLINED,
    FOR_EVER,
    UNKNOWN_TOKEN,
    Behaviour,
    behaviour_of,
)


@pytest.mark.parametrize(
    ("token", "behaviour"),
    [
        ("tok_ok", Behaviour()),
        ("tok_declined", Behaviour(decline_reason=CARD_DECLINED)),
        ("tok_slow_2000", Behaviour(slow_ms=2000)),
        ("tok_timeout_then_ok", Behaviour(hold_first=True)),
        ("tok_flaky_3", Behaviour(flaky=3)),
        ("tok_ok.refund_fails", Behaviour(refund_fails=FOR_EVER)),
        ("tok_ok.refund_flaky_2", Behaviour(refund_flaky=2)),
        ("tok_ok.refund_fails_2", Behaviour(refund_fails=2)),
        ("tok_slow_2000.refund_fails", Behaviour(slow_ms=2000, refund_fails=FOR_EVER)),
        ("refund_flaky_2.tok_flaky_1", Behaviour(flaky=1, refund_flaky=2)),
        ("tok_declined.tok_slow_5", Behaviour(decline_reason=CARD_DECLINED, slow_ms=5)),
        ("tok_unheard_of", Behaviour(decline_reason=UNKNOWN_TOKEN)),
        ("", Behaviour(decline_reason=UNKNOWN_TOKEN)),
        ("tok_ok.", Behaviour(decline_reason=UNKNOWN_TOKEN)),
        ("tok_slow_", Behaviour(decline_reason=UNKNOWN_TOKEN)),
        ("tok_slow_-1", Behaviour(decline_reason=UNKNOWN_TOKEN)),
        ("tok_slow_1e3", Behaviour(decline_reason=UNKNOWN_TOKEN)),
        ("TOK_OK", Behaviour(decline_reason=UNKNOWN_TOKEN)),
    ],
)
def test_a_token_is_read(token: str, behaviour: Behaviour) -> None:
    assert behaviour_of(token) == behaviour


@pytest.mark.parametrize(
    ("address", "faults"),
    [
        ("ada@shop.example", Faults()),
        ("slow-500@shop.example", Faults(slow_ms=500)),
        ("slow-500-ada@shop.example", Faults(slow_ms=500)),
        ("Slow-500.ada@shop.example", Faults(slow_ms=500)),
        ("flaky-2.ada@shop.example", Faults(flaky=2)),
        ("refuse@shop.example", Faults(refuse=True)),
        ("refused.ada@shop.example", Faults(refuse=True)),
        ("slow-500.flaky-2.ada@shop.example", Faults(slow_ms=500, flaky=2)),
        ("ada.refuse@shop.example", Faults(refuse=True)),
        ("slow@shop.example", Faults()),
        ("slowly-9@shop.example", Faults()),
        ("ada@slow-500.example", Faults()),
    ],
)
def test_an_address_is_read(address: str, faults: Faults) -> None:
    assert faults_of(address) == faults
