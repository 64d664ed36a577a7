"""Finds processes of a stack that outlived its Supervisor, and ends them."""

from collections.abc import Iterator
from contextlib import suppress

import psutil

from infra.local.layout import Layout

GRACE_SECONDS = 10


def find(layout: Layout) -> list[psutil.Process]:
    """Every process that Supervisor started for this state folder and that is still there."""
    return list(_belonging(f"unix://{layout.socket}"))


def _belonging(server: str) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            gone = process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
            if not gone and process.environ().get("SUPERVISOR_SERVER_URL") == server:
                yield process


def end(processes: list[psutil.Process]) -> None:
    """Ask the processes to end, and kill those that have not after a while."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    _, stubborn = psutil.wait_procs(processes, timeout=GRACE_SECONDS)
    for process in stubborn:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(stubborn, timeout=GRACE_SECONDS)
