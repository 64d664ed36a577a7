"""Orphans: jobs whose worker was killed. They need not wait for its lease.

A process id means something only to the kernel that gave it, and there only in its namespace (a
container has its own). A worker's name says which these were, so that a process from the same place
can tell for certain that a worker is dead. Of any other nobody knows, and the lease decides.
"""

import os
import random
import socket
from functools import cache
from pathlib import Path
from uuid import uuid4, uuid5

import sqlalchemy as sa

from services.eventkit import jobs, logs
from services.eventkit.ids import NAMESPACE

LOG = logs.logger("orphans")
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_PROCESS_IDS = Path("/proc/self/ns/pid")


def worker_name() -> str:
    """A new name for a worker of this process."""
    return f"{socket.gethostname()}:{_place()}:{os.getpid()}:{random.getrandbits(32):08x}"


def is_dead(worker: str) -> bool:
    """True where a worker's process has ended for certain. An id that was given again hides it."""
    match worker.split(":"):
        case [_, place, pid, _] if place == _place() and pid.isdecimal():
            return not _lives(int(pid))
    return False


def free(db: sa.Engine) -> int:
    """Gives back the jobs of dead workers, their attempt used up; returns how many."""
    freed = 0
    with db.begin() as conn:
        for worker in filter(is_dead, jobs.workers(conn)):
            count = jobs.release_all(conn, worker)
            LOG.warning("jobs of a dead worker are free again", worker=worker, jobs=count)
            freed += count
    return freed


@cache
def _place() -> str:
    """Where this process's id is valid; where the system does not say, only this process is."""
    try:
        told = f"{_BOOT.read_text()}:{_PROCESS_IDS.stat().st_ino}"
    except OSError:
        told = uuid4().hex
    return uuid5(NAMESPACE, told).hex[:12]


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
