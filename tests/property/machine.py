"""Hypothesis plays a world: any move at any time, and a trouble between any two of them."""

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.property.model.checks import AFTER_REPAIR, ALWAYS, AT_REST, expect
from tests.property.model.conduct import Conduct
from tests.property.model.dice import Dice
from tests.property.model.parts import Parts
from tests.property.model.progress import moves
from tests.property.model.quiet import repair, settle
from tests.property.model.troubles import (
    CONSUMERS,
    CUSTOMERS,
    GOODS,
    OPERATORS,
    RELAYS,
    RULES,
    WORKERS,
    Trouble,
    customer_orders,
)
from tests.property.model.world import World

STOCK = st.tuples(*[st.integers(1, 4) for _ in GOODS])
MOVES = st.binary(min_size=3, max_size=16)
THROW = st.binary(min_size=1, max_size=7)


class History(RuleBasedStateMachine):
    """One history: a few orders, whatever may happen to them, and the guarantees checked.

    Every rule makes some honest moves and then meets a trouble. After the last one the world comes
    to rest, and people repair what needs their attention.
    """

    parts = Parts()

    @initialize(stock=STOCK, unheard=st.sampled_from([0, 0, 0, 1, 2]), throw=THROW)
    def open_shop(self, stock: tuple[int, ...], unheard: int, throw: bytes) -> None:
        self.world = World(self.parts, dict(zip(GOODS, stock, strict=True)))
        self.conduct = Conduct(self.world)
        self.checked: tuple[int, ...] = ()
        self.sound = True
        if unheard:  # these placements come before the relay has its slot
            self.world.lose_slot("order", missed=unheard)
        dice = Dice(throw)
        customer_orders(self.world, dice)
        customer_orders(self.world, dice)
        self.check()

    @rule(moves=MOVES, trouble=st.sampled_from(CUSTOMERS), throw=THROW)
    def customers(self, moves: bytes, trouble: Trouble, throw: bytes) -> None:
        self.play(moves, trouble, throw)

    @rule(moves=MOVES, trouble=st.sampled_from(OPERATORS), throw=THROW)
    def operators(self, moves: bytes, trouble: Trouble, throw: bytes) -> None:
        self.play(moves, trouble, throw)

    @rule(moves=MOVES, trouble=st.sampled_from(RELAYS), throw=THROW)
    def relays(self, moves: bytes, trouble: Trouble, throw: bytes) -> None:
        self.play(moves, trouble, throw)

    @rule(moves=MOVES, trouble=st.sampled_from(CONSUMERS), throw=THROW)
    def consumers(self, moves: bytes, trouble: Trouble, throw: bytes) -> None:
        self.play(moves, trouble, throw)

    @rule(moves=MOVES, trouble=st.sampled_from(RULES), throw=THROW)
    def broken_rules(self, moves: bytes, trouble: Trouble, throw: bytes) -> None:
        self.play(moves, trouble, throw)

    @rule(moves=MOVES, trouble=st.sampled_from(WORKERS), throw=THROW)
    def workers(self, moves: bytes, trouble: Trouble, throw: bytes) -> None:
        self.play(moves, trouble, throw)

    def play(self, throws: bytes, trouble: Trouble, throw: bytes) -> None:
        """Makes honest moves, one a byte, and then a trouble."""
        self.sound = False
        dice = Dice(throws)
        while dice and (move := dice.pick(moves(self.world))):
            move()
            self.check()
        trouble(self.world, Dice(throw))
        self.check()
        self.sound = True

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        try:
            if self.sound:  # otherwise something was found on the way
                self.come_to_rest()
        finally:
            note("\n".join(self.world.story))

    def come_to_rest(self) -> None:
        """Ends all troubles and checks what must be true then, before and after repairs."""
        settle(self.world)
        self.check()
        expect(self.world, AT_REST)
        repair(self.world)
        self.check()
        expect(self.world, AFTER_REPAIR)

    def check(self) -> None:
        """Checks what is always true, where anything has changed since the last time."""
        if (seen := self.world.progress()) != self.checked:
            self.conduct.expect()
            expect(self.world, ALWAYS)
            self.checked = seen
