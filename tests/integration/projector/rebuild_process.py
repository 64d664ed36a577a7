"""A rebuild in a process of its own, to be killed: ``python -m ... URL BOOTSTRAP REGISTRY TOPICS``.

With the name of a step behind, it kills itself where that step begins.
"""

import os
import signal
import sys

from services.eventkit.rebuild.rebuilder import Progress, Rebuilder
from services.projector.rebuild import OrderModel

CHUNK = 20


def main(url: str, bootstrap: str, registry: str, topics: str, last_step: str = "") -> None:
    """Rebuilds with small chunks, so that there is a middle to be killed in."""

    def progress(now: Progress) -> None:
        if now.step == last_step:
            os.kill(os.getpid(), signal.SIGKILL)

    model = OrderModel(registry, tuple(topics.split(",")))
    Rebuilder(model, url, bootstrap, chunk=CHUNK, progress=progress).rebuild()


if __name__ == "__main__":
    main(*sys.argv[1:])
