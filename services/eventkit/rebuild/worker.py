"""One of the processes of a first pass: ``python -m`` this, with its job on standard input."""

import gc
import os
import pickle
import sys

from services.eventkit import db
from services.eventkit.logs import short
from services.eventkit.rebuild import bulk
from services.eventkit.rebuild.processes import Job


def work(job: Job) -> None:
    """Copies one share after the other.

    It ends where its parent has gone. Each chunk asks once its connection is there: another rebuild
    ends the connections that it finds, and what connects later finds the parent gone.
    """

    def may_go_on() -> None:
        if os.getppid() != job.parent:
            raise SystemExit(1)

    engine = db.make_engine(job.url, pool_size=1, name=f"rebuild-{job.model.name}")
    for share in job.shares:
        bulk.copy(
            engine, job.model, job.bootstrap, job.generation, share, job.chunk,
            may_go_on,
        )  # fmt: skip


def main() -> None:
    """Says on standard output what it gives up for."""
    gc.disable()  # nothing here makes cycles, and looking for them takes a quarter of the time
    try:
        work(pickle.load(sys.stdin.buffer))  # noqa: S301 - from the process that began this one
    except (Exception, KeyboardInterrupt) as error:
        sys.stdout.write(short(error))
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
