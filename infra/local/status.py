"""What runs, what it weighs, and whether it does its work."""

import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import psutil
from rich.table import Table

from infra.local import layout as layouts
from infra.local import lifecycle, ready
from infra.local import stack as stacks
from infra.local.console import console
from infra.local.supervisor import State, Supervisor

NOT_RUNNING = 3
PORT_OF = {
    "broker": "kafka",
    "connect-guardian": "connect_guardian",
    "payment-provider": "payment_provider",
    "mail-sink": "mail_http",
    "projector-agent": "projector_agent",
    "projector-api": "projector",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One process. ``memory`` is its share of memory and its children's, in bytes."""

    name: str
    state: str
    pid: int
    port: int
    memory: int
    uptime: int
    ready: bool
    reason: str


def collect() -> list[Row]:
    """Every process of the running stack; empty when it is not running."""
    where = layouts.load()
    supervisor = Supervisor(where)
    if not supervisor.running():
        return []
    stack = stacks.prepare(where, lifecycle.running_ports(where), lambda _: None)
    states = supervisor.states()
    rows = [
        _row(states.get(name, State(name, "MISSING", 0, 0)), stack.ports[port_of(name)], reason)
        for name, reason in ready.not_ready(stack).items()
    ]
    pid = supervisor.pid()
    rows.append(Row("supervisor", "RUNNING", pid, 0, _own_memory(pid), 0, True, ""))
    return rows


def port_of(process: str) -> str:
    """The name in ``infra/ports.toml`` of the port a process is asked at."""
    return PORT_OF.get(process, process)


def _row(state: State, port: int, reason: str) -> Row:
    return Row(
        name=state.name,
        state=state.state,
        pid=state.pid,
        port=port,
        memory=_memory(state.pid),
        uptime=int(time.time()) - state.since if state.pid else 0,
        ready=not reason,
        reason=reason,
    )


def _memory(pid: int) -> int:
    if not pid:
        return 0
    with suppress(psutil.Error):
        children = psutil.Process(pid).children(recursive=True)
        return _own_memory(pid) + sum(_own_memory(child.pid) for child in children)
    return 0


def _own_memory(pid: int) -> int:
    """Proportional set size where the system knows it (Linux), else what is the process's alone."""
    with suppress(psutil.Error):
        details = psutil.Process(pid).memory_full_info()
        return int(getattr(details, "pss", details.uss))
    return 0


def as_dict(row: Row) -> dict[str, Any]:
    """The row as ``status --json`` prints it."""
    return asdict(row)


def exit_code(rows: list[Row]) -> int:
    """0 when all is ready, 1 when something is not, 3 when nothing runs."""
    if not rows:
        return NOT_RUNNING
    return 0 if all(row.ready for row in rows) else 1


def show(rows: list[Row]) -> None:
    """Print the table."""
    if not rows:
        console.print("The stack is not running. Start it: make up")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("process")
    table.add_column("state")
    for title in ("pid", "port", "MB"):
        table.add_column(title, justify="right")
    table.add_column("ready", overflow="fold")
    for row in rows:
        verdict = "[green]yes[/green]" if row.ready else f"[red]no[/red]: {row.reason}"
        table.add_row(
            row.name, row.state, str(row.pid or "-"), str(row.port or "-"),
            f"{row.memory / 1e6:.0f}", verdict,
        )  # fmt: skip
    total = sum(row.memory for row in rows)
    table.add_row("total", "", "", "", f"{total / 1e6:.0f}", "", style="bold")
    console.print(table)
