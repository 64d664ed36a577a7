"""Finds processes of a stack that nobody can stop by its control socket any more, and ends them."""

from collections.abc import Callable, Iterator
from contextlib import suppress

import psutil

from infra.local.layout import Layout
from infra.local.supervisor import SUPERVISORD

GRACE_SECONDS = 10
_SUPERVISOR_SECONDS = 40
"""It stops its processes before it ends itself."""


def find(layout: Layout) -> list[psutil.Process]:
    """Every process of this state folder that is still there: its Supervisor, and what that began.

    The socket of a Supervisor that lives may be gone, where somebody has deleted its folder.
    """
    return [*_supervisors(layout), *_supervised(layout)]


def end(layout: Layout) -> None:
    """Asks them to end, Supervisor first: it would start the others again; kills who does not."""
    _end(_supervisors(layout), _SUPERVISOR_SECONDS)
    _end(_supervised(layout), GRACE_SECONDS)


def _supervisors(layout: Layout) -> list[psutil.Process]:
    words = {SUPERVISORD, str(layout.supervisor_conf)}
    return list(_such(lambda process: words <= set(process.cmdline())))


def _supervised(layout: Layout) -> list[psutil.Process]:
    server = f"unix://{layout.socket}"
    return list(_such(lambda process: process.environ().get("SUPERVISOR_SERVER_URL") == server))


def _such(is_one: Callable[[psutil.Process], bool]) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            gone = process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
            if not gone and is_one(process):
                yield process


def _end(processes: list[psutil.Process], seconds: float) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    _, stubborn = psutil.wait_procs(processes, timeout=seconds)
    for process in stubborn:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(stubborn, timeout=GRACE_SECONDS)
