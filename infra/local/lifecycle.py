"""What `make up`, `make down` and `make purge` do."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import psutil

from infra.jaeger import binary
from infra.local import configuration, leftovers, ports, preflight, ready, supervisor_conf
from infra.local import layout as layouts
from infra.local import stack as stacks
from infra.local.console import Progress, console
from infra.local.errors import StackError
from infra.local.layout import MARKER, Layout, write_private
from infra.local.parts import PartFailed, run
from infra.local.ports import Ports
from infra.local.postgres_home import ELSEWHERE, elsewhere_for
from infra.local.programs import all_programs
from infra.local.stack import Stack
from infra.local.start import Starter
from infra.local.supervisor import Supervisor
from infra.local.waiting import until

LOG_LINES = 15
STOP_SECONDS = 60
# Stopped one after the other; what is not named goes first, all of it at once.
LAST_TO_STOP = ("connect", "registry", "broker", "postgres", "toxiproxy")


def up(services: bool = True) -> Stack:
    """Bring the stack up, or what is missing of it. Raises StackError."""
    where = layouts.load()
    where.create()
    with _alone(where):
        stack, supervisor = _prepare(where)
        _write_orderctl_env(stack)
        if supervisor.running():
            _renew(stack, supervisor)
            if not _missing(stack):
                console.print(
                    f"The stack is up already at ports {stack.ports.base}+: nothing to do."
                )
                return stack
        else:
            _launch(stack, supervisor)
        _bring_up(stack, supervisor, services)
    return stack


def _missing(stack: Stack) -> list[str]:
    """What does not do its work, except Jaeger while it is being built."""
    why = ready.not_ready(stack)
    building = {"jaeger"} if binary.status(stack.layout.cache) else set()
    return [name for name in why if why[name] and name not in building]


def _prepare(where: Layout) -> tuple[Stack, Supervisor]:
    supervisor = Supervisor(where)
    with Progress().shown() as progress:
        stack = stacks.prepare(where, _ports(where, supervisor), partial(_downloading, progress))
    return stack, supervisor


def _downloading(progress: Progress, words: str) -> None:
    if progress.began("download"):
        console.print("Downloading the Java programs that infra/jars.lock pins, once (230 MB).")
    progress.say("download", words)


def _ports(where: Layout, supervisor: Supervisor) -> Ports:
    wanted = ports.load()
    if not supervisor.running():
        return wanted
    running = running_ports(where)
    if "PORT_BASE" in os.environ and wanted.base != running.base:
        raise StackError(
            f"the stack in {where.state} is running at ports {running.base}+",
            "Stop it first (make down), or start a second one with its own SAGA_STATE_DIR.",
        )
    return running


def running_ports(where: Layout) -> Ports:
    """The ports the running stack was started with."""
    return ports.load({"PORT_BASE": _base_file(where).read_text()})


def _base_file(where: Layout) -> Path:
    return where.run / "port_base"


def _launch(stack: Stack, supervisor: Supervisor) -> None:
    if orphans := leftovers.find(stack.layout):
        leftovers.end(stack.layout)
        console.print(f"Ended {len(orphans)} processes that nobody could stop any more.")
    preflight.check_ports(stack.ports)
    write_configuration(stack)
    write_private(_base_file(stack.layout), str(stack.ports.base))
    supervisor.launch()


def _renew(stack: Stack, supervisor: Supervisor) -> None:
    """A running stack takes in new programs, and keeps running those whose settings changed."""
    write_configuration(stack)
    if outdated := supervisor.adopt():
        console.print(
            f"Settings have changed since these were started: {', '.join(sorted(outdated))}.\n"
            "To apply them: make down up"
        )


def write_configuration(stack: Stack) -> None:
    """Write what the programs of the stack read when they start, Supervisor's own file too."""
    configuration.write(stack)
    text = supervisor_conf.render(all_programs(stack), stack.layout, root=os.geteuid() == 0)
    write_private(stack.layout.supervisor_conf, text)


def _write_orderctl_env(stack: Stack) -> None:
    lines = [f"{name}={value}\n" for name, value in stack.orderctl().items()]
    write_private(stack.layout.orderctl_env, "".join(lines))


def _bring_up(stack: Stack, supervisor: Supervisor, services: bool) -> None:
    with Progress().shown() as progress:
        try:
            run(Starter(stack, supervisor, progress.say).parts(services), progress)
        except PartFailed as failure:
            raise _explained(stack.layout, failure) from failure


def _explained(where: Layout, failure: PartFailed) -> StackError:
    cause = failure.__cause__
    log = where.logs / f"{failure.name}.log"
    tail = log.read_text(errors="replace").splitlines()[-LOG_LINES:] if log.exists() else []
    shown = "".join(f"\n  | {line}" for line in tail)
    if isinstance(cause, StackError):
        return StackError(f"{failure.name}: {cause.problem}{shown}", cause.next_step)
    return StackError(
        f"{failure.name}: {type(cause).__name__}: {cause}{shown}",
        "Run `make up` again: it goes on where it stopped.",
    )


def down() -> None:
    """Stop everything, keep the data, and make sure that nothing is left."""
    where = layouts.load()
    if not (where.state / MARKER).exists():
        if leftovers.find(where):  # its folder was deleted under it
            _stop(where)
        else:
            console.print("Nothing to stop: this stack was never started.")
        return
    with _alone(where):
        _stop(where)
    console.print(f"The data is kept in {where.state}.")


def _stop(where: Layout) -> None:
    supervisor = Supervisor(where)
    was_running = supervisor.running()
    if was_running:
        _stop_in_order(supervisor)
    if orphans := leftovers.find(where):
        leftovers.end(where)
        console.print(f"Ended {len(orphans)} processes that nobody could stop any more.")
    if left := leftovers.find(where):
        pids = ", ".join(str(process.pid) for process in left)
        raise StackError(f"these processes did not end: {pids}", "End them by hand (kill -9).")
    words = "Stopped" if was_running else "Nothing was running"
    console.print(f"{words}; no process is left.")


def _stop_in_order(supervisor: Supervisor) -> None:
    process = psutil.Process(supervisor.pid())
    names = supervisor.states().keys()
    supervisor.stop_together(names - set(LAST_TO_STOP))
    for name in LAST_TO_STOP:
        supervisor.stop_together({name} & names)
    supervisor.shutdown()
    until(lambda: not lives(process), STOP_SECONDS, "Supervisor to end")


def lives(process: psutil.Process) -> bool:
    """Whether the process is more than an entry that nobody has read the exit code of."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def purge() -> None:
    """Stop everything and delete the state folder; downloads stay."""
    where = layouts.load()
    if not (where.state / MARKER).exists():
        console.print(f"Nothing to delete: {where.state} is not there.")
        return
    with _alone(where):
        _stop(where)
        for folder in (elsewhere_for(where), where.state):
            if folder.exists():
                shutil.rmtree(folder)
                console.print(f"Deleted {folder}.")
        with suppress(OSError):  # not there, or other stacks have theirs in it
            ELSEWHERE.rmdir()
    console.print(f"Downloads are kept in {where.cache}.")


@contextmanager
def _alone(where: Layout) -> Iterator[None]:
    """One `make up`, `down` or `purge` of a stack at a time."""
    with (where.state / MARKER).open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            console.print("Another command is changing this stack; waiting for it.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
