"""The outcome of a campaign as data."""

import os
import platform
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from typing import Any

import psutil

from services.orderctl.verify.run import Result
from tests.chaos.client import Client
from tests.chaos.endings import Endings
from tests.chaos.promises import broken
from tests.chaos.recovery import Recovery


@dataclass(frozen=True, slots=True)
class Options:
    """What a campaign was asked for; ``rate`` is orders a second."""

    seed: int
    minutes: float
    rate: float

    @property
    def command(self) -> str:
        """How to run it again."""
        return f"make chaos SEED={self.seed} MINUTES={self.minutes:g} RATE={self.rate:g}"


@dataclass(frozen=True, slots=True)
class Target:
    """What was done to one process or connection, and its recovery in seconds.

    ``slow`` counts those that took longer than the next action waited for.
    """

    name: str
    actions: dict[str, int]
    p50: float | None
    longest: float | None
    slow: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """All that the page shows; ``seconds`` is from the first order to the last recovery."""

    options: Options
    began: datetime
    seconds: float
    machine: str
    orders: int
    posts_without_answer: dict[str, int]
    endings: dict[str, int]
    ended_median: float | None
    recoveries: tuple[Recovery, ...]
    mail_copies: int
    results: tuple[Result, ...]

    @property
    def held(self) -> bool:
        """Whether every promise was kept, and everything recovered."""
        return not any(broken(self.results).values()) and not self.unrecovered

    @property
    def unrecovered(self) -> list[Recovery]:
        """Actions after which something never worked again."""
        return [recovery for recovery in self.recoveries if not recovery.done]

    @property
    def kinds(self) -> dict[str, int]:
        """How many actions of each kind there were."""
        return dict(Counter(recovery.action.kind for recovery in self.recoveries))

    def targets(self, slow_after: float) -> list[Target]:
        """By process and connection, in the order of their names."""
        by_name: dict[str, list[Recovery]] = defaultdict(list)
        for recovery in self.recoveries:
            by_name[_name(recovery)].append(recovery)
        return [_target(name, by_name[name], slow_after) for name in sorted(by_name)]

    def as_json(self) -> dict[str, Any]:
        """Everything, with each action and each check."""
        return {
            "held": self.held,
            "seed": self.options.seed,
            "minutes": self.options.minutes,
            "rate": self.options.rate,
            "command": self.options.command,
            "began": self.began.isoformat(timespec="seconds"),
            "seconds": round(self.seconds, 1),
            "machine": self.machine,
            "orders": self.orders,
            "posts_without_answer": self.posts_without_answer,
            "endings": self.endings,
            "ended_median_seconds": self.ended_median,
            "broken": broken(self.results),
            "mail_copies": self.mail_copies,
            "actions": [_as_json(recovery) for recovery in self.recoveries],
            "checks": [result.as_json() for result in self.results],
        }


def build(
    options: Options,
    began: datetime,
    seconds: float,
    client: Client,
    endings: Endings,
    statuses: Iterable[str],
    recoveries: Sequence[Recovery],
    results: Sequence[Result],
    mail_copies: int,
) -> Verdict:
    """Join what the parts of a campaign know; ``statuses`` are how the orders ended."""
    took = [
        endings.seen_at[order.order_id] - order.sent_at
        for order in client.accepted
        if order.order_id in endings.seen_at
    ]
    return Verdict(
        options=options,
        began=began,
        seconds=seconds,
        machine=machine(),
        orders=len(client.accepted),
        posts_without_answer=dict(client.unanswered.most_common()),
        endings=dict(Counter(statuses).most_common()),
        ended_median=round(median(took), 2) if took else None,
        recoveries=tuple(recoveries),
        mail_copies=mail_copies,
        results=tuple(results),
    )


def machine() -> str:
    """The machine in a few words."""
    memory = psutil.virtual_memory().total / 2**30
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GB"


def _name(recovery: Recovery) -> str:
    action = recovery.action
    return f"connection to {action.target}" if recovery.is_connection else action.target


def _target(name: str, recoveries: Sequence[Recovery], slow_after: float) -> Target:
    times = [recovery.seconds for recovery in recoveries if recovery.seconds is not None]
    return Target(
        name=name,
        actions=dict(Counter(recovery.action.kind for recovery in recoveries)),
        p50=median(times) if times else None,
        longest=max(times, default=None),
        slow=sum(
            recovery.seconds is None or recovery.seconds > slow_after for recovery in recoveries
        ),
    )


def _as_json(recovery: Recovery) -> dict[str, Any]:
    action = recovery.action
    return {
        "planned_at": action.at,
        "kind": action.kind,
        "target": action.target,
        "lasts": action.lasts,
        "recovered_from": datetime.fromtimestamp(recovery.since, UTC).isoformat(
            timespec="milliseconds"
        ),
        "ready_after": recovery.after(recovery.ready_at),
        "confirmed_after": recovery.after(recovery.confirmed_at),
        "recovery_seconds": None if recovery.seconds is None else round(recovery.seconds, 1),
    }
