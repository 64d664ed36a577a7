"""Whatever is late, early, repeated, lost or killed: no order is lost, charged twice, or stuck."""

from collections.abc import Iterator

import pytest

from services.inventory.domain import TRANSITIONS as RESERVATIONS
from services.order.domain import TRANSITIONS as ORDERS
from services.payment.domain import TRANSITIONS as PAYMENTS
from tests.property.census import Census, Move
from tests.property.machine import History
from tests.property.play import HISTORIES, MANY_HISTORIES, MANY_STEPS, play

ENDINGS = {
    "confirmed",
    "cancelled:out_of_stock",
    "cancelled:payment_declined",
    "cancelled:customer_request",
    "cancelled:payment_timeout",
}
"""How an order can end once people have repaired what needed their attention."""

RARE = {
    ("payment", "voided", "refunding"),  # not by a provider that knows one charge a key
    ("payment", "declined", "refunding"),  # a refusal stops the charge that might still land
    ("payment", "refund_failed", "refunded"),  # see test_found_histories
    ("order", "pending", "needs_attention"),  # likewise
}
"""Moves that a few thousand histories need not make."""


class Counted(History):
    """A history that counts what became of its orders."""

    census = Census()

    def come_to_rest(self) -> None:
        super().come_to_rest()
        self.census.add(self.world)


def test_every_order_stays_whole_in_every_history(capsys: pytest.CaptureFixture[str]) -> None:
    Counted.census = Census()
    play(Counted, HISTORIES)
    census = Counted.census
    with capsys.disabled():
        print(f"\n{census}")
    assert census.histories >= HISTORIES
    assert census.endings.keys() == ENDINGS
    assert set(_moves()) - census.moves.keys() <= RARE


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_every_order_stays_whole_in_many_long_histories(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Counted.census = Census()
    play(Counted, MANY_HISTORIES, MANY_STEPS, derandomize=False, print_blob=True)
    with capsys.disabled():
        print(f"\n{Counted.census}")


def _moves() -> Iterator[Move]:
    for service, table in (
        ("order", ORDERS),
        ("inventory", RESERVATIONS),
        ("payment", PAYMENTS),
    ):
        for (before, _), after in table.items():
            yield service, before, after
