"""Runs a campaign: orders at a steady rate, one action after the other, then the verdict."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

from infra.local import ready
from services.orderctl.client import Shop
from services.orderctl.load.orders import prepare
from services.orderctl.mix import deal, parse_mix
from services.orderctl.settings import Settings
from services.orderctl.verify.quiet import wait_for_quiet
from services.orderctl.verify.snapshot import load_snapshot
from tests.chaos import promises, verdict
from tests.chaos.client import CLIENTS, Client
from tests.chaos.endings import Endings
from tests.chaos.hands import Hands
from tests.chaos.recovery import Recovery
from tests.chaos.schedule import Action, schedule
from tests.chaos.verdict import Options, Verdict
from tests.live_stack import LiveStack

MIX = (
    "confirmed=74,payment_declined=8,out_of_stock=6,cancel_before_capture=3,"
    "cancel_after_capture=3,payment_timeout=3,refund_fails=3"
)
MOST_SECONDS = 30.0
"""The next action waits for recovery from the last, but no longer than that."""
BETWEEN_LOOKS = 0.5
LAST_ANSWERS = 120.0
LAST_RECOVERY = 180.0
QUIET = 240.0

Tell = Callable[[str], None]


class Campaign:
    """One campaign on one running stack that nobody else uses."""

    def __init__(self, stack: LiveStack, options: Options, tell: Tell, show: Tell) -> None:
        """``tell`` gets a line about each action, ``show`` what is going on at the moment."""
        given = {name.removeprefix("SAGA_").lower(): value for name, value in stack.env.items()}
        self._settings = Settings.model_validate(given)
        self._shop = Shop(self._settings, connections=2 * CLIENTS)
        self._stack = stack
        self._options = options
        self._tell, self._show = tell, show
        self._hands = Hands(stack)
        self._checks = ready.checks(stack.settings)
        self._client = Client(self._shop, options.rate, deal(parse_mix(MIX), options.seed))
        self._endings = Endings(self._settings.kafka_bootstrap)
        self._recoveries: list[Recovery] = []
        self._begin = 0.0

    def run(self) -> Verdict:
        """Everything up to the verdict."""
        planned = schedule(self._options.seed, self._options.minutes * 60)
        longest = self._options.minutes * 60 + len(planned) * MOST_SECONDS
        prepare(self._shop, int(longest * self._options.rate) + 1)
        began = datetime.now(UTC)
        self._endings.start()
        self._client.start()
        self._begin = time.time()
        try:
            for number, action in enumerate(planned, 1):
                self._one(action, f"{number}/{len(planned)} {action}")
        except BaseException:
            self._client.finish(0)
            raise
        self._show("waiting for the last answers")
        self._client.finish(LAST_ANSWERS)
        self._wait_for(lambda: not self._open(), LAST_RECOVERY, "the last recovery")
        seconds = time.time() - self._begin
        return self._judge(began, seconds)

    def _one(self, action: Action, title: str) -> None:
        self._wait_for(lambda: time.time() >= self._begin + action.at, float("inf"), "the next")
        self._show(title)
        recovery = Recovery(action, self._hands.perform(action))
        self._recoveries.append(recovery)
        self._wait_for(lambda: recovery.done, MOST_SECONDS, title)
        took = "not yet" if recovery.seconds is None else f"{recovery.seconds:.1f} s"
        self._tell(f"{time.time() - self._begin:6.0f} s  {title}: recovered {took}")

    def _open(self) -> list[Recovery]:
        return [recovery for recovery in self._recoveries if not recovery.done]

    def _wait_for(self, condition: Callable[[], bool], seconds: float, what: str) -> None:
        deadline = time.monotonic() + seconds
        while not condition() and time.monotonic() < deadline:
            time.sleep(BETWEEN_LOOKS)
            for recovery in self._open():
                recovery.look(self._checks, self._client, self._endings)
            ended = len(self._endings.seen_at)
            self._show(f"{what} · {len(self._client.accepted)} orders, {ended} ended")

    def _judge(self, began: datetime, seconds: float) -> Verdict:
        self._stack.wait_ready(seconds=LAST_RECOVERY)
        moving = wait_for_quiet(
            self._settings, QUIET, lambda what: self._show(f"waiting for quiet: {what}")
        )
        self._show("reading databases, topics, ledger and mails")
        snapshot = load_snapshot(self._settings, self._shop)
        self._endings.stop()
        results = promises.check_all(snapshot, moving, promises.Known.by(self._client))
        return verdict.build(
            self._options,
            began,
            seconds,
            self._client,
            self._endings,
            [f"{o.status}:{o.reason}" if o.reason else o.status for o in snapshot.orders.values()],
            self._recoveries,
            results,
            promises.mail_copies(snapshot),
        )
