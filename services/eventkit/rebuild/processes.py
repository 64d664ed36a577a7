"""The processes that share a first pass: what each is told, and minding them.

Each is an interpreter of its own, which reads its job from standard input and says on standard
output why it gave up. One of `multiprocessing` would import the caller's main module as well: with
a whole command line that is half a second of CPU, before the first record.
"""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from services.eventkit.positions import Place
from services.eventkit.rebuild.generations import Generation
from services.eventkit.rebuild.model import ReadModel, RebuildFailed

_POLL = 0.3
_COMMAND = (sys.executable, "-P", "-m", "services.eventkit.rebuild.worker")

_Process = subprocess.Popen[bytes]


@dataclass(frozen=True, slots=True)
class Job:
    """What one process copies: one share after the other, ``chunk`` records at a time."""

    model: ReadModel
    url: str
    bootstrap: str
    generation: Generation
    shares: Sequence[Mapping[Place, range]]
    chunk: int
    parent: int


def run(jobs: Iterable[Job], look: Callable[[], None]) -> None:
    """Does all jobs side by side and looks how they get on, a few times a second.

    Raises `RebuildFailed` where one of them gives up or is killed; then the others are ended.
    """
    begun: list[_Process] = []
    try:
        for job in jobs:
            begun.append(_begin(job))
        running = begun
        while running:
            with suppress(subprocess.TimeoutExpired):
                running[0].wait(_POLL)
            for process in running:
                if process.poll():
                    raise RebuildFailed(f"a process ended: {_last_words(process)}")
            running = [process for process in running if process.returncode is None]
            look()
    finally:
        for process in begun:
            process.terminate()
            with process:  # waits for it
                pass


def _begin(job: Job) -> _Process:
    process = subprocess.Popen(  # noqa: S603 - our own module
        _COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdin
    with suppress(BrokenPipeError), process.stdin as told:  # who is gone already is noticed soon
        pickle.dump(job, told)
    return process


def _last_words(process: _Process) -> str:
    assert process.stdout
    said = process.stdout.read().decode(errors="replace").strip()
    return said or f"exit code {process.returncode}"
