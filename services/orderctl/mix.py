"""The kinds of order a load is made of, and in what shares."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from services.orderctl.errors import CliError

CONFIRMED = "confirmed"
OUT_OF_STOCK = "out_of_stock"
PAYMENT_DECLINED = "payment_declined"
PAYMENT_TIMEOUT = "payment_timeout"
CANCEL_BEFORE_CAPTURE = "cancel_before_capture"
CANCEL_AFTER_CAPTURE = "cancel_after_capture"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of order: how it is placed and how it is expected to end.

    ``pay_within`` is in seconds; None takes the order service's default.
    """

    name: str
    ending: str
    token: str = "tok_ok"  # noqa: S105 - a test token of the fake provider
    pay_within: int | None = None
    short: bool = False


KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(CONFIRMED, "confirmed"),
        Kind(OUT_OF_STOCK, "cancelled:out_of_stock", short=True),
        Kind(PAYMENT_DECLINED, "cancelled:payment_declined", token="tok_declined"),  # noqa: S106
        Kind(CANCEL_BEFORE_CAPTURE, "cancelled:customer_request"),
        Kind(CANCEL_AFTER_CAPTURE, "cancelled:customer_request", token="tok_slow_2000"),  # noqa: S106
        Kind(PAYMENT_TIMEOUT, "cancelled:payment_timeout", token="tok_slow_4000", pay_within=1),  # noqa: S106
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
