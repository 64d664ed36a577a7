"""The kinds of order a load is made of, and in what shares."""

# ruff: noqa: S105, S106 - the tokens are test tokens of the fake provider, no secrets

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from services.orderctl.errors import CliError

CONFIRMED = "confirmed"
OUT_OF_STOCK = "out_of_stock"
PAYMENT_DECLINED = "payment_declined"
PAYMENT_TIMEOUT = "payment_timeout"
CANCEL_BEFORE_CAPTURE = "cancel_before_capture"
CANCEL_AFTER_CAPTURE = "cancel_after_capture"
REFUND_FAILS = "refund_fails"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of order: how it is placed and how it is expected to end.

    ``pay_within`` is in seconds; None takes the order service's default. ``short`` adds a line that
    is never in stock. ``cancel`` says when the customer cancels: at once, or while charging.
    """

    name: str
    ending: str
    token: str = "tok_ok"
    pay_within: int | None = None
    short: bool = False
    cancel: Literal["at_once", "while_charging"] | None = None


BY_CUSTOMER = "cancelled:customer_request"

KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(CONFIRMED, "confirmed"),
        Kind(OUT_OF_STOCK, "cancelled:out_of_stock", short=True),
        Kind(PAYMENT_DECLINED, "cancelled:payment_declined", token="tok_declined"),
        Kind(CANCEL_BEFORE_CAPTURE, BY_CUSTOMER, cancel="at_once"),
        Kind(CANCEL_AFTER_CAPTURE, BY_CUSTOMER, token="tok_slow_2000", cancel="while_charging"),
        Kind(PAYMENT_TIMEOUT, "cancelled:payment_timeout", token="tok_slow_4000", pay_within=1),
        Kind(
            REFUND_FAILS,
            BY_CUSTOMER,
            token="tok_slow_2000.refund_fails",
            cancel="while_charging",
        ),
    )
}

DEFAULT_MIX = (
    "confirmed=80,payment_declined=8,out_of_stock=6,"
    "cancel_before_capture=2,cancel_after_capture=2,payment_timeout=2"
)


def parse_mix(text: str) -> dict[str, int]:
    """``confirmed=80,payment_declined=20`` as weights; they need not add up to 100."""
    weights: dict[str, int] = {}
    for part in text.split(","):
        name, _, weight = part.strip().partition("=")
        if name not in KINDS:
            raise CliError(f"--mix: unknown kind {name!r}", f"kinds: {', '.join(KINDS)}", code=2)
        if name in weights:
            raise CliError(f"--mix: {name} is given twice", code=2)
        if not weight.isdigit():
            raise CliError(f"--mix: {name} needs a whole number, as in {name}=10", code=2)
        weights[name] = int(weight)
    if not any(weights.values()):
        raise CliError("--mix: all weights are zero", code=2)
    return weights


def deal(weights: Mapping[str, int], seed: int) -> "Dealer":
    """A dealer of kinds in these shares; the same seed deals the same sequence."""
    return Dealer([KINDS[name] for name in weights], list(weights.values()), seed)


class Dealer:
    """Deals kinds so that every full round holds exactly the shares asked for, in mixed order."""

    def __init__(self, kinds: Sequence[Kind], weights: Sequence[int], seed: int) -> None:
        self._round = [k for k, weight in zip(kinds, weights, strict=True) for _ in range(weight)]
        self._random = random.Random(seed)
        self._left: list[Kind] = []

    def next(self) -> Kind:
        """The kind of the next order."""
        if not self._left:
            self._left = self._random.sample(self._round, len(self._round))
        return self._left.pop()
