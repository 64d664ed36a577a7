"""What too many orders do to those who place them: ``python -m tests.bench.overload``.

On the running stack of ``make up``. First everything at twice what the machine can finish: what
accepted and refused requests get, how long the backlog lasts, whether every accepted order ends.
Then one tenant at ten times its rate, and what another one notices of it. Each figure is compared
with one of the same run. Exit code 1 where a promise did not hold.
"""

import argparse
import asyncio
import contextlib
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import httpx

from services.orderctl.client import Shop
from services.orderctl.groups import read_groups
from services.orderctl.load.orders import order_body, prepare, request_headers
from services.orderctl.mix import CONFIRMED, KINDS
from services.orderctl.percentiles import Percentiles, percentiles
from services.orderctl.settings import Settings, load_settings
from tests.saga.support.orderctl import orderctl, orderctl_json
from tests.saga.support.wait import until

RATE_OF_TENANT, NEIGHBOURS_RATE = 4, 2.0
"""Orders a second: what the greedy tenant may place, and what the other one does place."""
_ENDINGS_WITHIN = 300.0


@dataclass
class Answers:
    """What came back of requests that were sent at a steady rate, whoever was slow."""

    milliseconds: dict[int, list[float]] = field(default_factory=dict)
    accepted: list[str] = field(default_factory=list)
    without_retry_after: int = 0
    broken: Counter[str] = field(default_factory=Counter)

    @property
    def statuses(self) -> dict[int, int]:
        """How many got each status."""
        return {status: len(took) for status, took in sorted(self.milliseconds.items())}

    @property
    def of_accepted(self) -> Percentiles:
        """How long those waited that were accepted."""
        found = percentiles(self.milliseconds.get(202, []))
        assert found is not None, self
        return found

    @property
    def honest(self) -> bool:
        """Accepted, or refused with a time to come back."""
        return not (self.without_retry_after or self.broken or set(self.statuses) - {202, 429, 503})

    def take(self, answer: httpx.Response, took: float) -> None:
        """Notes one answer; ``took`` is in seconds."""
        self.milliseconds.setdefault(answer.status_code, []).append(took * 1000)
        if answer.status_code == httpx.codes.ACCEPTED:
            self.accepted.append(answer.json()["order_id"])
        elif "Retry-After" not in answer.headers:
            self.without_retry_after += 1


async def offer(url: str, rate: float, seconds: float, key: str | None = None) -> Answers:
    """Places orders at this rate for so long, however long each answer takes."""
    answers = Answers()
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    # Shorter than the server's 5 s, or a request may meet a connection that is just closing.
    limits = httpx.Limits(max_connections=1000, keepalive_expiry=2.0)
    async with httpx.AsyncClient(base_url=url, timeout=30, limits=limits, headers=headers) as http:

        async def place(number: int) -> None:
            body = order_body(KINDS[CONFIRMED], number)
            began = time.monotonic()
            try:
                answer = await http.post("/orders", json=body, headers=request_headers())
            except httpx.HTTPError as error:
                answers.broken[type(error).__name__] += 1
            else:
                answers.take(answer, time.monotonic() - began)

        began = time.monotonic()
        async with asyncio.TaskGroup() as sending:
            for number in range(int(rate * seconds)):
                await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
                sending.create_task(place(number))
    return answers


def until_read(settings: Settings) -> float:
    """Seconds until every group has read all there is."""
    began = time.monotonic()

    def nothing_left() -> bool:
        return not any(group.events for group in read_groups(settings.kafka_bootstrap))

    until(nothing_left, "the lag to end", _ENDINGS_WITHIN)
    return time.monotonic() - began


def until_ended(url: str, orders: Sequence[str]) -> dict[str, int]:
    """Waits for the ending of every order: how many came to which; ``open`` are those left."""
    found: Counter[str] = Counter()
    deadline = time.monotonic() + _ENDINGS_WITHIN
    with httpx.Client(base_url=url, timeout=70) as http:
        for order in orders:
            status = "pending"
            while status == "pending" and time.monotonic() < deadline:
                answer = http.get(f"/orders/{order}", params={"wait": 30})
                if answer.status_code in (429, 503):
                    time.sleep(float(answer.headers["Retry-After"]))
                    continue
                status = answer.raise_for_status().json()["status"]
            found["open" if status == "pending" else status] += 1
    return dict(found)


def overload(settings: Settings, seconds: float, capacity: float | None) -> dict[str, Any]:
    """Half of what the machine finishes, then twice of it; measured first where not given."""
    url = settings.order_url
    if capacity is None:
        say("what the machine can finish")
        found = orderctl_json("load", "--max", "--orders", "400", "--mix", "confirmed=1")
        capacity = float(found["completed_per_second"])
    say(f"{capacity:.1f} orders a second; half of it for {seconds:g} s")
    half = asyncio.run(offer(url, capacity / 2, seconds))
    until_ended(url, half.accepted)
    until_read(settings)
    say(f"twice of it for {seconds:g} s")
    twice = asyncio.run(offer(url, capacity * 2, seconds))
    say("until the lag has gone")
    lag_gone = until_read(settings)
    endings = until_ended(url, twice.accepted)
    ratio = twice.of_accepted.p95 / half.of_accepted.p95
    return {
        "capacity_per_second": capacity,
        "half": _shown(half),
        "twice": _shown(twice) | {"lag_gone_after_seconds": lag_gone, "endings": endings},
        "p95_twice_over_half": ratio,
        "held": {
            "p95 under 3 times that at half load": ratio < 3,
            "refused with Retry-After, nothing else": twice.honest and half.honest,
            "lag gone within a minute": lag_gone < 60,
            "every accepted order ended": not endings.get("open"),
        },
    }


@contextlib.contextmanager
def _tenant(name: str, *options: str) -> Iterator[str]:
    made = orderctl_json("keys", "create", name, *options)
    try:
        yield made["key"]
    finally:
        assert orderctl("keys", "revoke", made["id"]).returncode == 0


def greedy(settings: Settings, seconds: float, pairs: int) -> dict[str, Any]:
    """One tenant alone, and beside another one at ten times its rate, in turns."""
    url = settings.order_url
    allowed = ("--orders-per-second", str(RATE_OF_TENANT))
    ratios: list[float] = []
    neighbours: list[Answers] = []
    greedy_ones: list[Answers] = []
    with _tenant("bench-neighbour") as quiet_key, _tenant("bench-greedy", *allowed) as greedy_key:
        for key in (quiet_key, greedy_key):
            _goods(settings, key)

        async def both() -> tuple[Answers, Answers]:
            return await asyncio.gather(
                offer(url, NEIGHBOURS_RATE, seconds, quiet_key),
                offer(url, 10 * RATE_OF_TENANT, seconds, greedy_key),
            )

        async def its_rate() -> tuple[Answers, Answers]:
            return await asyncio.gather(
                offer(url, NEIGHBOURS_RATE, seconds, quiet_key),
                offer(url, RATE_OF_TENANT, seconds, greedy_key),
            )

        for pair in range(pairs):
            say(f"pair {pair + 1} of {pairs}: the other tenant at its rate, then at ten times it")
            alone, _ = asyncio.run(its_rate())
            until_read(settings)
            beside, greedy_one = asyncio.run(both())
            until_read(settings)
            neighbours.append(beside)
            greedy_ones.append(greedy_one)
            ratios.append(beside.of_accepted.p95 / alone.of_accepted.p95)
    middle = median(ratios)
    return {
        "neighbour": [_shown(one) for one in neighbours],
        "greedy": [_shown(one) for one in greedy_ones],
        "p95_ratios": ratios,
        "p95_ratio": middle,
        "held": {
            "the neighbour's p95 rises by less than half": middle < 1.5,
            "the neighbour is refused nothing": all(
                set(one.statuses) == {202} and not one.broken for one in neighbours
            ),
            "the greedy one is refused with Retry-After": all(
                one.honest and one.statuses.get(429) for one in greedy_ones
            ),
        },
    }


def _goods(settings: Settings, key: str) -> None:
    keyed = settings.model_copy(update={"api_key": key})
    prepare(Shop(keyed, connections=2), 2000)


def _shown(answers: Answers) -> dict[str, Any]:
    times = {status: percentiles(took) for status, took in answers.milliseconds.items()}
    return {
        "statuses": answers.statuses,
        "broken": dict(answers.broken),
        "milliseconds": {
            status: {"p50": round(p.p50, 1), "p95": round(p.p95, 1), "p99": round(p.p99, 1)}
            for status, p in sorted(times.items())
            if p
        },
    }


def say(text: str) -> None:
    """Tells how far it is."""
    print(text, file=sys.stderr, flush=True)


def main(arguments: Sequence[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument(
        "--capacity", type=float, help="orders a second that it can finish, when nobody is refused"
    )
    parser.add_argument("--pairs", type=int, default=3, help="of the two tenants' measurement")
    parser.add_argument("--only", choices=["overload", "tenants"])
    options = parser.parse_args(arguments)
    settings = load_settings()
    found: dict[str, Any] = {}
    if options.only != "tenants":
        prepare(Shop(settings, connections=2), 20_000)
        found["overload"] = overload(settings, options.seconds, options.capacity)
    if options.only != "overload":
        found["tenants"] = greedy(settings, options.seconds / 3, options.pairs)
    print(json.dumps(found, indent=2))
    return 0 if all(held for part in found.values() for held in part["held"].values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
