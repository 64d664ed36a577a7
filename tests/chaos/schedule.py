"""What is disturbed and when: a pure function of the seed."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["kill", "stop", "pause", "restart", "cut", "delay", "silence"]

PROCESSES: Final = (
    "order",
    "payment",
    "inventory",
    "email",
    "analytics",
    "projector-agent",
    "projector-api",
    "connect",
    "connect-guardian",
    "broker",
    "postgres",
    "registry",
    "payment-provider",
    "mail-sink",
)
CONNECTIONS: Final = ("postgres", "kafka", "payment_provider", "mail_smtp")

# A round kills every process once and does these besides, all in mixed order.
GENTLER: Final[tuple[Kind, ...]] = ("stop", "pause", "restart")
ROUGHER: Final[tuple[Kind, ...]] = ("cut", "delay", "silence")

# Seconds that a disturbance lasts. A paused consumer is thrown out of its group after 10 s.
LASTS: Final[dict[Kind, tuple[int, int]]] = {
    "stop": (2, 8),
    "pause": (3, 14),
    "cut": (2, 8),
    "delay": (4, 10),
    "silence": (4, 10),
}
FIRST_AT = 5.0
APART = 8.0
"""Seconds before the first action, and from the end of one to the next at the earliest."""


@dataclass(frozen=True, slots=True)
class Action:
    """One disturbance: ``at`` seconds after the first order at the earliest, for ``lasts`` seconds.

    ``target`` is a process for a kill (-9), stop, pause (SIGSTOP) and restart, and a connection
    for a cut (refused), delay and silence (nothing arrives, nothing is closed).
    """

    at: float
    kind: Kind
    target: str
    lasts: int = 0

    def __str__(self) -> str:
        return f"{self.kind} {self.target}" + (f" for {self.lasts} s" if self.lasts else "")


def schedule(seed: int, seconds: float) -> tuple[Action, ...]:
    """The actions of a campaign of that length; a longer one begins with the same."""
    dice = random.Random(seed)
    actions: list[Action] = []
    at = FIRST_AT
    for kind, target in _rounds(dice):
        lasts = dice.randint(*LASTS[kind]) if kind in LASTS else 0
        if at + lasts > seconds:
            return tuple(actions)
        actions.append(Action(at, kind, target, lasts))
        at += lasts + APART
    raise AssertionError("rounds never end")


def _rounds(dice: random.Random) -> Iterator[tuple[Kind, str]]:
    while True:
        actions = _round(dice)
        dice.shuffle(actions)
        yield from actions


def _round(dice: random.Random) -> list[tuple[Kind, str]]:
    kills: list[tuple[Kind, str]] = [("kill", process) for process in PROCESSES]
    gentler = [(kind, dice.choice(PROCESSES)) for kind in GENTLER]
    connections = dice.sample(CONNECTIONS, len(ROUGHER))
    return [*kills, *gentler, *zip(ROUGHER, connections, strict=True)]
