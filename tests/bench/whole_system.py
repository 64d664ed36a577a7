"""What an order costs, and what being seen adds: ``python -m tests.bench.whole_system``.

On the running stack of ``make up``, which stays up: before each run only the Python services are
started anew, with spans and lines off, with a tenth of the traces recorded, or with all of them.
Metrics cannot be switched off and count in every run. A block is each of the three and the same
backwards, so that whatever grows or warms up steadily meets all of them alike.

A run lets confirmed orders through as fast as it goes, once others have warmed the services up. It
is told by the clock and by the processor time of every process of the stack and of the load tool,
until the last mail is in the read model. The second is the one to trust, and what the first comes
to where the processor is what there is too little of. What else the machine did meanwhile is told
too: it slows both, and a run of which it took more than a twentieth is made again.
"""

import argparse
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from statistics import mean, median
from typing import Any

import psutil

from infra.local import layout, lifecycle, stack
from infra.names import EMITTERS, database
from services.orderctl.client import Shop
from services.orderctl.commands.load import make_plan, measure
from services.orderctl.load.orders import prepare
from services.orderctl.load.runner import Runner
from services.orderctl.mix import deal, parse_mix
from services.orderctl.settings import load_settings
from tests.bench.observability import OFF, TENTH, WHOLE
from tests.bench.overload import say, until_read
from tests.live_stack import LiveStack
from tests.saga.support.wait import until

SETTINGS = {
    OFF: {"SAGA_TRACE_SHARE": "0", "SAGA_LOG_LEVEL": "CRITICAL"},
    TENTH: {"SAGA_TRACE_SHARE": "0.1", "SAGA_LOG_LEVEL": "INFO"},
    WHOLE: {"SAGA_TRACE_SHARE": "1", "SAGA_LOG_LEVEL": "INFO"},
}
ALL_LET_IN = {"SAGA_ADMISSION_SLOWER": "0"}
"""How fast it goes is the question, so nobody is refused because it could be faster."""
SERVICES = (*EMITTERS, "projector-agent", "projector-api")
"""What is started anew before each run."""
LOAD_TOOL, SUPERVISOR = "load tool", "supervisor"
CLIENTS = 20
_MAILS_WITHIN = 120.0
_DISTURBED, _TRIES = 0.05, 3
_READY_WITHIN = 900.0  # Jaeger may still be in the making


@dataclass(frozen=True)
class Run:
    """So many orders in one mode; processor time in milliseconds an order, by process.

    ``elsewhere`` is the share of all processor time that went to what is no part of it.
    """

    mode: str
    orders_per_second: float
    cpu: Mapping[str, float]
    elsewhere: float

    @property
    def cpu_of_all(self) -> float:
        """The sum over all processes."""
        return sum(self.cpu.values())


class Bench:
    """A hand on the running stack."""

    def __init__(self) -> None:
        where = layout.load()
        self._live = LiveStack(stack.prepare(where, lifecycle.running_ports(where), say))
        self._live.wait_ready(seconds=_READY_WITHIN)
        self._settings = load_settings()
        self._shop = Shop(self._settings, connections=CLIENTS)

    def stock(self, orders: int) -> None:
        """Books in enough goods for all that follows."""
        prepare(self._shop, orders)

    @contextmanager
    def given_back(self) -> Iterator[None]:
        """The services run with their own settings again afterwards."""
        try:
            yield
        finally:
            self._start_services({})

    def idle(self, seconds: float) -> dict[str, float]:
        """What each process uses while there is nothing to do, in milliseconds a second."""
        before = self._used()
        time.sleep(seconds)
        return _per(before, self._used(), seconds)

    def undisturbed(self, mode: str, warm_up: int, orders: int) -> Run:
        """A run of a mode; one that was disturbed is made again, a few times."""
        for _ in range(_TRIES):
            run = self.run(mode, warm_up, orders)
            say(
                f"{mode}: {run.orders_per_second:.1f} orders/s, {run.cpu_of_all:.1f} ms each, "
                f"elsewhere {run.elsewhere:.1%}"
            )
            if run.elsewhere < _DISTURBED:
                break
        return run

    def run(self, mode: str, warm_up: int, orders: int) -> Run:
        """One run of a mode, on services that were started for it."""
        self._start_services(SETTINGS[mode] | ALL_LET_IN)
        self.load(warm_up)
        before, of_all, own = self._used(), _of_the_machine(), time.process_time()
        rate, tool = self.load(orders)
        of_all, own = _of_the_machine() - of_all, time.process_time() - own
        used = _per(before, self._used(), orders)
        elsewhere = 1 - (sum(used.values()) * orders / 1000 + own) / of_all
        return Run(mode, rate, used | {LOAD_TOOL: 1000 * tool / orders}, elsewhere)

    def load(self, orders: int) -> tuple[float, float]:
        """Orders a second by the clock, and the load tool's own processor seconds.

        Returns when all that came of the orders is in the read model.
        """
        plan = make_plan(None, True, orders, None, CLIENTS)
        runner = Runner(self._shop, plan, deal(parse_mix("confirmed=1"), 1))
        began = time.process_time()
        report = measure(self._settings, runner, timeout=120)
        tool = time.process_time() - began
        assert report.endings == {"confirmed": orders}, report
        ids = [order.order_id for order in runner.run.placed]
        until(lambda: self._mailed(ids) == orders, "the mails in the read model", _MAILS_WITHIN)
        until_read(self._settings)
        return report.completed_per_second, tool

    def _mailed(self, orders: Sequence[str]) -> int:
        query = (
            "SELECT count(*) FROM order_timeline"
            " WHERE event_type = 'EmailSent' AND order_id = ANY(%s::uuid[])"
        )
        with self._live.admin(database("projector")) as admin:
            ((found,),) = admin.execute(query, [list(orders)])
        return int(found)

    def _start_services(self, settings: Mapping[str, str]) -> None:
        own = self._live.settings
        lifecycle.write_configuration(replace(own, overrides={**own.overrides, **settings}))
        self._live.supervisor.renew(SERVICES)
        self._live.start(*SERVICES)

    def _used(self) -> dict[str, float]:
        """Processor seconds of each process of the stack so far, with its children's."""
        states = self._live.supervisor.states().values()
        used = {state.name: _with_children(state.pid) for state in states if state.pid}
        times = psutil.Process(self._live.supervisor.pid()).cpu_times()
        return used | {SUPERVISOR: times.user + times.system}


def _with_children(pid: int) -> float:
    """Also of children that have ended: whoever waited for one has its time."""
    process = psutil.Process(pid)
    used = 0.0
    for member in (process, *process.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            used += sum(member.cpu_times()[:4])
    return used


def _of_the_machine() -> float:
    """Processor seconds of whatever runs on this machine, so far."""
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - getattr(times, "iowait", 0.0))


def _per(
    before: Mapping[str, float], after: Mapping[str, float], number: float
) -> dict[str, float]:
    return {name: 1000 * (used - before[name]) / number for name, used in after.items()}


def ratios(block: Sequence[Run]) -> dict[str, dict[str, float]]:
    """The throughput of each mode against the one without, within one block."""
    rate = {mode: mean(r.orders_per_second for r in block if r.mode == mode) for mode in SETTINGS}
    cpu = {mode: mean(r.cpu_of_all for r in block if r.mode == mode) for mode in SETTINGS}
    return {
        mode: {"by_cpu": cpu[OFF] / cpu[mode], "by_the_clock": rate[mode] / rate[OFF]}
        for mode in SETTINGS
    }


def summary(blocks: Sequence[Sequence[Run]]) -> dict[str, Any]:
    """Medians over all runs, and of the blocks' ratios with the least and the most of them."""
    runs = [run for block in blocks for run in block]
    told: dict[str, Any] = {}
    for mode in SETTINGS:
        own = [run for run in runs if run.mode == mode]
        of_blocks = [ratios(block)[mode] for block in blocks]
        told[mode] = {
            "orders_per_second": _spread([run.orders_per_second for run in own]),
            "cpu_ms_an_order": _spread([run.cpu_of_all for run in own]),
            "elsewhere": _spread([run.elsewhere for run in own]),
            "throughput_ratio": {
                by: _spread([found[by] for found in of_blocks]) for by in of_blocks[0]
            },
            "cpu_ms_an_order_by_process": {
                name: round(median(run.cpu[name] for run in own), 2) for name in own[0].cpu
            },
        }
    return told


def _spread(values: Sequence[float]) -> dict[str, float]:
    numbers = {"median": median(values), "least": min(values), "most": max(values)}
    return {name: round(number, 3) for name, number in numbers.items()}


def main() -> None:
    """Runs the blocks and prints one JSON document; each run is told on standard error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=2)
    parser.add_argument("--orders", type=int, default=400)
    parser.add_argument("--warm-up", type=int, default=150)
    options = parser.parse_args()
    bench = Bench()
    turn = [*SETTINGS, *reversed(SETTINGS)]
    bench.stock((len(turn) * options.blocks + 2) * (options.orders + options.warm_up))
    blocks: list[list[Run]] = []
    with bench.given_back():
        bench.run(OFF, options.warm_up, 2 * options.orders)  # Java compiles what it runs often
        idle = bench.idle(10)
        for _ in range(options.blocks):
            blocks.append([])
            for mode in turn:
                blocks[-1].append(bench.undisturbed(mode, options.warm_up, options.orders))
    print(json.dumps({"idle_ms_a_second": idle, **summary(blocks)}, indent=2))


if __name__ == "__main__":
    main()
